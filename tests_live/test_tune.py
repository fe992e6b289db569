"""A tune on a real server."""

import json
from pathlib import Path

import jsonschema

from dialin.evidence.proof_view import proof_view
from dialin.model.trial import Step, TrialState
from dialin.store.store import Store
from live import EASY, FAST, SHORT, interrupt, measuring, only_with_all

SCHEMA = json.loads((Path(__file__).parents[1] / "schema" / "verdict.schema.json").read_text())
CAPACITY, DEPTH = "innodb_io_capacity", "innodb_lru_scan_depth"


def test_a_tune_that_is_stopped_shows_the_best_so_far_and_resumes_to_a_verdict_from_fresh_trials(dialin):
    out = dialin.directory / "tune"
    words = ["tune", f"{CAPACITY}=200..2000", f"{DEPTH}=200..3000", "--server", FAST, *SHORT, *EASY, "--goal", "latency"]
    process = dialin.start(*words, "--minutes", "2", "--out", out)
    measuring(out, block=4)
    err = interrupt(process)
    assert process.returncode == 130
    assert "No verdict yet: after " in err or "Best so far, not proven: " in err
    assert (out / "report.html").is_file()
    with Store.open(out) as store:
        before = proof_view(store.read()).course.trials

    resumed = dialin.start("resume", out, "--json")
    text, err = resumed.communicate(timeout=400)
    assert resumed.returncode in (0, 1), err
    verdict = json.loads(text)
    jsonschema.validate(verdict, SCHEMA)
    assert {one["name"] for one in verdict["tune"]["variables"]} == {CAPACITY, DEPTH}
    assert verdict["tune"]["failures"] == []
    assert verdict["tune"]["proven"] > 0

    with Store.open(out) as store:
        record = proof_view(store.read())
    done = [trial for trial in record.course.trials if trial.state is TrialState.DONE]
    assert [trial.id for trial in before if trial.state is TrialState.DONE] == [t.id for t in done if t.session == 1]
    assert sum(Step.BOOT in trial.steps for trial in done) == 2, "both variables are set in the server that runs"
    for trial in done:
        for name, value in record.course.settings[trial.candidate].items():
            assert trial.in_force[name] == str(value)
    assert {trial.candidate for trial in record.trials} == {one["name"] for one in verdict["candidates"]}


@only_with_all
def test_of_variables_that_the_load_does_not_touch_none_is_recommended(dialin):
    out = dialin.directory / "nothing"
    ranges = ["bulk_insert_buffer_size=1M..64M", "max_heap_table_size=1M..64M", "binlog_cache_size=4K..1M"]
    words = ["--server", FAST, "--workload", "oltp_point_select", *SHORT, "--worthwhile", "15%", "--minutes", "2.5"]
    text, _ = dialin("tune", *ranges, *words, "--out", out, "--json", code=dialin.any_code)
    tune = json.loads(text)["tune"]
    assert tune["outcome"] in ("nothing", "inconclusive"), "the latter on a machine that is too noisy for so few minutes"
    assert tune["recommended"] == {}
    assert not any(f"\n{text.partition('=')[0]}" in (out / "recommended.cnf").read_text() for text in ranges)
