from dialin.report import semaphores_section, statements_section
from fixtures import example_reasons, example_studies


def names(record):
    return [candidate.name for candidate in record.spec.candidates]


def test_a_percentile_in_a_bucket_without_end_has_no_figure():
    record = example_studies.winner()
    first, second, *_ = statements_section.times(example_reasons.full(record), names(record))
    assert first.cells == ["2,106,220", "91.2 µs", "436 µs", "1.05 ms"]
    assert second.cells[-1] == "–"


def test_a_candidate_that_never_ran_a_statement_has_no_row():
    record = example_studies.winner()
    why = example_reasons.full(record)
    row = why.statements[0]
    only = row.model_copy(update={"candidates": {"4": row.candidates["4"]}})
    (told,) = statements_section.statements(why.model_copy(update={"statements": [only]}), names(record))
    assert [one.candidate for one in told.rows] == ["4"]


def test_what_no_thread_did_is_no_line_and_what_a_server_does_not_tell_is_no_zero():
    record = example_studies.winner()
    why = example_reasons.full(record)
    place, spin = why.semaphores.places[0], why.semaphores.spins[0]
    told = why.semaphores.model_copy(
        update={
            "places": [place.model_copy(update={"waiting": {"1": 2.0, "4": 0.0}})],
            "spins": [spin.model_copy(update={"spins": {"1": 0.0}, "rounds": {"1": 8.0, "16": 2.0}, "os_waits": {"1": 0.0}})],
        }
    )
    why = why.model_copy(update={"semaphores": told})
    own = semaphores_section.candidates(why, names(record))
    assert own == ["1", "4", "16"]
    assert [line.figures for line in semaphores_section.places(why, own)] == [["2.00", "0", "–"]]
    assert [(line.name, line.figures) for line in semaphores_section.spins(why, own)] == [
        ("mutexes: rounds", ["8.00", "–", "2.00"])
    ]


def test_no_character_of_a_digest_or_place_acts():
    why = example_reasons.hostile(example_studies.hostile())
    own = names(example_studies.hostile())
    texts = [one.digest for one in statements_section.statements(why, own)]
    texts += [
        line.name for line in (*semaphores_section.places(why, own), *semaphores_section.spins(why, own))
    ] + semaphores_section.notes(why)
    assert len(texts) == 6
    assert not set("".join(texts)) & {"\x1b", "\x07", "\u202e", "\n"}
