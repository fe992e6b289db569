from dialin.report.document import semaphore_tables, statement_tables
from fixtures import example_reasons, example_studies


def names(record):
    return [candidate.name for candidate in record.spec.candidates]


def labels(record):
    return {name: name for name in names(record)}


def test_a_percentile_in_a_bucket_without_end_has_no_figure():
    record = example_studies.winner()
    (table,) = statement_tables.times(example_reasons.full(record), names(record), labels(record))
    first, second, *_ = [[cell.text for cell in row.cells] for row in table.rows]
    assert first == ["1", "2,106,220", "91.2 µs", "436 µs", "1.05 ms"]
    assert second[-1] == "–"


def test_a_candidate_that_never_ran_a_statement_has_no_row():
    record = example_studies.winner()
    why = example_reasons.full(record)
    row = why.statements[0]
    only = row.model_copy(update={"candidates": {"4": row.candidates["4"]}})
    (table,) = statement_tables.statements(why.model_copy(update={"statements": [only]}), names(record), labels(record))
    assert [row.cells[0].candidate for row in table.rows] == ["4"]


def test_what_no_thread_did_is_no_line_and_what_a_server_does_not_report_is_no_zero():
    record = example_studies.winner()
    why = example_reasons.full(record)
    place, spin = why.semaphores.places[0], why.semaphores.spins[0]
    reported = why.semaphores.model_copy(
        update={
            "places": [place.model_copy(update={"waiting": {"1": 2.0, "4": 0.0}})],
            "spins": [spin.model_copy(update={"spins": {"1": 0.0}, "rounds": {"1": 8.0, "16": 2.0}, "os_waits": {"1": 0.0}})],
        }
    )
    why = why.model_copy(update={"semaphores": reported})
    own = semaphore_tables.candidates(why, names(record))
    assert own == ["1", "4", "16"]
    (place,), (spins,) = semaphore_tables.places(why, own), semaphore_tables.spins(why, own)
    assert [cell.text for cell in place.cells[1:]] == ["2.00", "0", "–"]
    assert [cell.text for cell in spins.cells] == ["mutexes: rounds", "8.00", "–", "2.00"]


def test_no_character_of_a_digest_or_place_acts():
    why = example_reasons.hostile(example_studies.hostile())
    own = names(example_studies.hostile())
    texts = [one.caption for one in statement_tables.statements(why, own, labels(example_studies.hostile()))]
    texts += [
        row.cells[0].text for row in (*semaphore_tables.places(why, own), *semaphore_tables.spins(why, own))
    ] + semaphore_tables.notes(why)
    assert len(texts) == 6
    assert not set("".join(texts)) & {"\x1b", "\x07", "\u202e", "\n"}
