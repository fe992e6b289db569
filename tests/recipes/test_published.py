import dataclasses
import math
import re
import tarfile
from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.evidence import Watched
from dialin.model.trial import Purpose
from dialin.model.verdict import Note
from dialin.probes import host
from dialin.recipes import library
from dialin.search.proposer import History, Room
from fixtures import example_evidence, example_studies
from fixtures.simulated_runs import Killed, kill_at, run_study, simulated
from fixtures.stored_study import keep
from fixtures.study_builder import HOSTILE
from published import __main__ as command
from published import studies
from published.expectations import Agreement
from published.page import MACHINE, page, pictures, summary
from published.studies import PublishedStudy, all_studies, judged, pack, unpack, unpacked

ROOT = Path(__file__).parents[2]


def published(name, record, **changes):
    recipe = library.find(name)
    return PublishedStudy(name, recipe.model_copy(update=changes), recipe.study[0], record)


@pytest.fixture
def waited():
    return published("hash-table-locks", example_evidence.waits_moved())


@pytest.fixture(scope="module")
def stored():
    return all_studies()


def test_the_pages_are_those_that_todays_method_makes_of_the_stored_trials(stored):
    """A change of method, of a recipe or of a trial makes other pages: `make published` without minutes writes them again."""
    assert (ROOT / "docs" / "published.md").read_text() == summary(stored)
    assert (ROOT / "benchmarks" / "results" / "published.md").read_text() == page(stored)
    there = {f"docs/images/{path.name}" for path in (ROOT / "docs" / "images").glob("published-*.svg")}
    assert {name: (ROOT / name).read_text() for name in there} == pictures(stored)


def test_no_claim_is_answered_by_single_trials(stored):
    for study in stored:
        for result in study.results:
            if result.agreement is Agreement.INCONCLUSIVE or study.record is None:
                continue
            counts = [
                sum(trial.candidate == name and trial.has_ended for trial in study.record.trials if trial.purpose in of_claims)
                for name in result.expectation.candidates
                for of_claims in [(Purpose.WAITS,) if result.expectation.rule in studies.OF_WAITS else (Purpose.RACE,)]
            ]
            assert min(counts) > 1, result.expectation.claim


def test_the_store_of_each_study_is_small():
    assert all(path.stat().st_size <= 2**20 for path in studies.ARCHIVES.rglob("*"))


def test_a_stored_study_that_asks_something_else_than_its_recipe_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(studies, "ARCHIVES", tmp_path)
    (tmp_path / "study").mkdir()
    keep(example_studies.winner(), tmp_path / "study")
    study = published("buffer-pool-instances", None)
    pack(tmp_path / "study", study.archive)
    with pytest.raises(UserError, match="does not ask what the recipe asks today"):
        studies.of_recipe(study.name, study.study)


def test_a_study_that_was_killed_goes_on_elsewhere_from_its_archive_and_repeats_nothing(tmp_path, spec, clock):
    with pytest.raises(Killed):
        run_study(tmp_path / "here", spec, kill_at(8), clock)
    pack(tmp_path / "here", tmp_path / "archive" / "study.tar.xz")
    unpack(tmp_path / "archive" / "study.tar.xz", tmp_path / "there")
    later = simulated()
    _, record = run_study(tmp_path / "there", spec, later, clock)
    assert min(trial.id for trial in later.ran) > 7
    assert [trial.id for trial in record.trials if trial.has_ended][:7] == list(range(1, 8))


def test_a_stored_study_is_judged_again_though_its_verdict_cannot_be_read(tmp_path):
    record = example_evidence.waits_moved()
    (tmp_path / "study").mkdir()
    keep(dataclasses.replace(record, verdict=None), tmp_path / "study")
    pack(tmp_path / "study", tmp_path / "study.tar.xz")
    with tarfile.open(tmp_path / "study.tar.xz") as packed:
        assert packed.getnames() == ["study.db"]
    with unpacked(tmp_path / "study.tar.xz") as directory:
        verdict = judged(directory).verdict
    assert verdict.recommended_candidate == record.verdict.recommended_candidate


@pytest.mark.parametrize(("name", "study"), [(name, one) for name in library.names() for one in library.find(name).study])
def test_what_a_study_needs_is_known_before_it_runs(name, study):
    new = PublishedStudy(name, library.find(name), study, None)
    assert 0 < new.least_hours <= new.planned_hours < 30
    assert new.open_hours == [new.planned_hours] * len(new.results)
    assert len(command.forecast([new])) == 2


def test_what_an_open_claim_still_needs_follows_from_its_interval(waited):
    (claim, *_) = waited.results
    spent = waited.spent
    assert spent > 0
    wide = dataclasses.replace(claim, agreement=Agreement.INCONCLUSIVE, narrower=2.0)
    assert waited.hours(wide) == pytest.approx(max(waited.least_hours, 3 * spent)), "four times the trials"
    assert waited.hours(dataclasses.replace(wide, agreement=Agreement.AGREES)) == 0
    assert math.isfinite(waited.hours(dataclasses.replace(wide, narrower=math.inf)))


def test_the_study_that_answers_most_in_an_hour_is_worth_most(waited):
    claim = dataclasses.replace(waited.results[0], agreement=Agreement.INCONCLUSIVE)
    waited.__dict__["results"] = [dataclasses.replace(claim, narrower=narrower) for narrower in (3.0, 3.1, 90.0)]
    first, second, _ = waited.open_hours
    assert waited.answers_per_hour == pytest.approx(max(1 / first, 2 / second))


def test_blocks_have_the_candidates_of_claims_and_each_third_one_all(spec):
    proposer, history = command.OfClaims(frozenset({"1", "16"})), History(spec)
    named = [[one.name for one in proposer.propose(history, Room(block, 99))] for block in range(1, 5)]
    assert named == [["1", "4", "16"], ["1", "16"], ["1", "16"], ["1", "4", "16"]]
    assert len(proposer.propose(history, Room(4, 2))) == 2, "what the budget still holds"


def test_a_study_of_another_kind_of_machine_is_not_gone_on_with(waited):
    here = dict(waited.record.host)
    command.check_machine(waited, here)
    with pytest.raises(UserError, match="cpus is 32, and here it is 2"):
        command.check_machine(waited, {**here, "cpus": 2})
    with pytest.raises(UserError, match="memory_gb is 126, and here it is 8"):
        command.check_machine(waited, {**here, "memory_bytes": 8 * 2**30})


def test_the_page_sets_what_was_published_beside_what_was_found(waited):
    text = page([waited])
    assert "## hash-table-locks" in text
    assert waited.recipe.source.address in text
    assert "longest 1 %" in text, "the table of raw waits"


def test_the_summary_has_one_line_for_each_claim_and_its_details_once(waited):
    text = summary([waited])
    assert waited.results
    for one in waited.results:
        claim = one.expectation.claim.rstrip(".")
        assert len([line for line in text.splitlines() if line.startswith("|") and claim in line]) == 1
        assert text.count(f"- **{claim}.**") == 1
    assert waited.recipe.source.address in text


def test_a_study_that_did_not_run_has_its_hours(waited):
    text = summary([dataclasses.replace(waited, record=None)])
    assert re.search(r"\| not run yet: about \d+\.\d h \|", text)
    assert not any(line.startswith("- **") for line in text.splitlines())


def test_what_cannot_be_shown_has_the_reason_beside_it():
    study = published("buffer-pool-instances", example_studies.winner())
    claim = dataclasses.replace(study.results[0], agreement=Agreement.CANNOT)
    study.__dict__["results"] = [claim]
    assert f"| cannot be shown on 32 CPUs, because {claim.expectation.cannot} |" in summary([study])


def test_a_published_wait_stands_beside_ours_in_the_same_unit(waited):
    (head, _, first, second) = table_with(page([waited]), "published mean, ns")
    place = head.split(" | ").index("published mean, ns")
    assert first.split(" | ")[place] == "6,536", "published as 6,535,546 of what are picoseconds"
    assert second.split(" | ")[place] == "–"


def test_seconds_a_run_are_those_of_a_thread_also_where_several_scan_at_once():
    record = on_a_scan(example_studies.winner(), threads=4)
    (rate,) = [one.tps.mean for one in record.verdict.candidates if one.name == "4"]
    rows = table_with(page([published("buffer-pool-instances", record)]), "here, s per run")
    (row,) = [line for line in rows if line.startswith("| 4 |")]
    assert row.split(" | ")[1] == f"{4 / rate:.3f}"


def on_a_scan(record, *, threads):
    """The record with a verdict as if its load had been a scan."""
    workload = {
        **record.verdict.workload,
        "name": "scan",
        "traits": {"unit": "run", "runs": {"warm_up": 0, "measured": 3, "most": 6, "seconds": 1.0}},
        "threads": threads,
        "levels": [],
    }
    return dataclasses.replace(record, verdict=record.verdict.model_copy(update={"workload": workload}))


def table_with(text, title):
    """The lines of the first table that has such a column."""
    return next(table.splitlines() for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE) if title in table)


def test_the_machine_is_reported_by_keys_that_an_inventory_has(monkeypatch, tmp_path):
    disk = tmp_path / "block"
    (disk / "queue").mkdir(parents=True)
    (disk / "queue" / "rotational").write_text("0")
    monkeypatch.setattr(host.Path, "resolve", lambda *_, **__: disk)
    known = host.inventory(tmp_path)
    assert set(MACHINE) <= known.keys()
    text = summary([published("buffer-pool-instances", dataclasses.replace(example_studies.winner(), host=known))])
    assert f"file system: {known['file_system']}; disk: block; disk rotational: no" in text
    assert "with dialin " in text


def test_a_command_that_goes_on_with_one_study_is_not_told_of_a_recipe(waited):
    note = Note(code="inconclusive", text="A choice may take 84 blocks: dialin resume DIR --minutes 6")
    verdict = waited.record.verdict.model_copy(update={"warnings": [note], "detectable": 0.031})
    text = page([published("hash-table-locks", dataclasses.replace(waited.record, verdict=verdict))])
    assert "dialin resume" not in text
    assert "which can detect differences of 3.1 %" in text


def test_every_row_of_every_table_has_as_many_cells_as_its_head(waited):
    both = [waited, published("buffer-pool-instances", example_studies.winner())]
    tables = re.findall(r"(?:^\|.*\n)+", page(both) + summary(both), re.MULTILINE)
    assert len(tables) >= 4
    for table in tables:
        assert len({line.count(" | ") for line in table.splitlines() if "---" not in line}) == 1, table


def test_published_figures_stand_beside_ours_as_figures_as_speeds_and_in_the_picture():
    figures = (
        library.find("read-buffer-size").figures[0].model_copy(update={"study": "io-bound", "values": {"1": 40.0, "4": 50.0}})
    )
    study = published("buffer-pool-instances", example_studies.winner(), figures=[figures])
    row = next(line for line in page([study]).splitlines() if line.startswith("| 4 |"))
    assert "| 50" in row
    assert "−20.0 %" in row
    (drawn,) = pictures([study]).values()
    assert drawn.count("<polygon") == 1
    assert drawn.count("<circle") == len(study.record.spec.candidates) - 1


def test_the_places_at_which_threads_were_seen_waiting_stand_side_by_side(waited):
    counters = {"1": 33.0, "8": 0.0}
    seen = {
        trial.id: {
            "innodb": Watched("innodb", 10, {"semaphore_seen/btr0sea.cc:122/S-lock": counters[trial.candidate]}, readings=12)
        }
        for trial in waited.record.trials
    }
    text = page([published("hash-table-locks", dataclasses.replace(waited.record, watched=seen))])
    assert "| btr0sea.cc:122 (S-lock) | 3.00 | 0 |" in text
    assert "btr0sea.cc" not in page([waited])


def test_hostile_names_are_text():
    study = published("buffer-pool-instances", example_studies.hostile())
    for text in (page([study]), summary([study]), *pictures([study]).values()):
        assert "<script>" not in text
        assert HOSTILE not in text


def test_pages_without_runs_say_so():
    assert "nothing is answered" in page([])
    assert "nothing is answered" in summary([])
