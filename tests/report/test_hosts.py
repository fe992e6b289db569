"""What the report of a study on several hosts says of them; that of a study on one machine says nothing of hosts."""

from dataclasses import replace

from dialin.report.document.parts import SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.sentences import verdict_sentences
from fixtures import example_studies

FACTS = {"cpu": "AMD EPYC 9354", "cpus": 32, "memory_bytes": 128 * 1024**3}


def on_two_hosts():
    record = example_studies.winner()
    trials = [replace(trial, host="east" if trial.block % 2 else "west") for trial in record.trials]
    hosts = {"east": {**FACTS, "findings": ["other load"]}, "west": FACTS, "north": FACTS}
    return replace(record, trials=trials, hosts=hosts)


def part_of(record, key):
    return find(study_document(record).section(SectionKey.HOW).parts, key)


def rows(table):
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_hosts_are_listed_with_what_they_are_and_what_ran_there():
    record = on_two_hosts()
    blocks = {block.number for block in record.blocks}
    on_east = sum(trial.block % 2 for trial in record.trials)
    of_east, of_west = rows(part_of(record, "hosts-table"))
    assert of_east == ["east", "AMD EPYC 9354, 32 CPUs, 128 GiB", str(on_east), str(sum(n % 2 for n in blocks)), "other load"]
    assert of_west[:3] == ["west", "AMD EPYC 9354, 32 CPUs, 128 GiB", str(len(record.trials) - on_east)]
    assert [row[0] for row in rows(part_of(record, "order-table"))][:2] == ["block 1 on east", "block 2 on west"]
    every_trial = part_of(record, "trials-table")
    column = [one.key for one in every_trial.columns].index("host")
    assert [row[column] for row in rows(every_trial)] == [trial.host for trial in record.trials]
    assert part_of(record, "machine").title == "Machine that ran dialin"
    assert "these 2 hosts only" in verdict_sentences.scope(record)


def test_a_study_on_one_machine_has_no_hosts():
    record = example_studies.winner()
    assert part_of(record, "hosts-table") is None
    assert "host" not in [column.key for column in part_of(record, "trials-table").columns]
    assert part_of(record, "machine").title == "Machine"
    assert "this machine only" in verdict_sentences.scope(record)
