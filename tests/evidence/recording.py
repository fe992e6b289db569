"""What real studies recorded, thinned: `python tests/evidence/recording.py DIR NAME` keeps one."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter

from dialin.model.evidence import Gauge, ProbeNote, RawWaits, Watched
from dialin.model.record import StudyRecord
from dialin.model.study import StudySpec
from dialin.model.trial import Costs, Purpose, Sample, Step, Trial, TrialState
from dialin.model.verdict import CandidateState, Verdict
from dialin.store import rows
from dialin.store.store import Store

BLOCKS = 6

RECORDED = Path(__file__).parent / "recorded"

_SAMPLE = ("second", "tps", "reads", "writes", "other", "latency_ms", "gap", "threads", "seconds")
_WATCHED = ("seconds", "notes", "readings", "waited", "cpu")
_NOTES = TypeAdapter(tuple[ProbeNote, ...])
_VARIABLES = (
    "innodb_",
    "key_",
    "max_connections",
    "open_files_limit",
    "query_cache",
    "table_open_cache",
    "thread_cache_size",
    "version",
)


_ABSENT_IS_NONE = ("mutex", "statements", "waits")
"""Probes of which rules take a counter that is not there for one that stood still."""


_UNREAD = ("Com_", "table/")
"""What no evidence reads: how often each kind of statement ran, and each table by itself."""


@cache
def load(name: str) -> StudyRecord:
    """Return a study that ran on real servers."""
    kept = json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))
    trials, samples, watched = [], {}, {}
    for place, one in enumerate(kept["trials"]):
        number = one["id"]
        trials.append(
            Trial(
                **{key: one[key] for key in ("id", "block", "session", "position", "candidate", "started")},
                state=TrialState(one["state"]),
                purpose=Purpose(one["purpose"]),
                in_force={**kept["in_force"], **one["in_force"]},
                costs=Costs(**one["costs"]) if one.get("costs") else None,
            )
        )
        rows = [dict(zip(_SAMPLE, row, strict=True)) for row in one["samples"]]
        samples[number] = [
            Sample(**row, at=one["started"] + row["second"], step=Step.MEASURE, errors=0.0, reconnects=0.0) for row in rows
        ]
        watched[number] = {probe: _watched(probe, seen, place) for probe, seen in kept["watched"].items()}
    return StudyRecord(
        directory="",
        spec=StudySpec.model_validate(kept["spec"]),
        created=0.0,
        dialin_version="",
        host={},
        servers={},
        command="",
        trials=trials,
        samples=samples,
        watched=watched,
        waits={int(number): _raw(raw) for number, raw in kept["waits"].items()},
        verdict=_verdict(kept["verdict"], trials) if kept["verdict"] else None,
    )


_OF_OLDER_VERDICTS = ("left_after", "transactions", "weaker_durability")


def _verdict(recorded: Mapping[str, Any], trials: Sequence[Trial]) -> Verdict:
    """Return a recorded verdict in today's shape."""
    candidates = [
        {**{key: value for key, value in one.items() if key not in _OF_OLDER_VERDICTS}, "state": CandidateState.NO_CLAIM}
        for one in recorded["candidates"]
    ]
    done = sum(trial.state is TrialState.DONE and trial.purpose is Purpose.RACE for trial in trials)
    return Verdict.model_validate({**recorded, "candidates": candidates, "trials": done})


def _watched(probe: str, seen: Mapping[str, Any], place: int) -> Watched:
    facts = dict(zip(_WATCHED, seen["facts"][place], strict=True))
    return Watched(
        probe=probe,
        **{**facts, "notes": _NOTES.validate_python(facts["notes"])},
        counters=dict.fromkeys(seen.get("still", ()), 0.0)
        | {name: values[place] for name, values in seen["counters"].items() if values[place] is not None},
        gauges={name: Gauge(*values[place]) for name, values in seen["gauges"].items() if values[place] is not None},
    )


def _raw(raw: Mapping[str, Any]) -> RawWaits:
    return rows.waits(raw)


def thin(record: StudyRecord) -> dict[str, Any]:
    """Return what evidence reads of a study: figures of five digits, and of counters that were 0 in every trial the names.

    Of a study of many blocks the first ones are kept.
    """
    trials = [
        trial
        for trial in record.trials
        if trial.state is TrialState.DONE and (trial.block <= BLOCKS or trial.purpose is Purpose.WAITS)
    ]
    seen = [record.watched.get(trial.id, {}) for trial in trials]
    common = {
        name: value
        for name, value in trials[0].in_force.items()
        if name.startswith(_VARIABLES) and all(trial.in_force.get(name) == value for trial in trials)
    }
    return {
        "spec": _spec(record.spec),
        "verdict": record.verdict.model_dump(mode="json", by_alias=True) if record.verdict else None,
        "in_force": common,
        "trials": [_trial(trial, record.samples[trial.id], common) for trial in trials],
        "watched": {probe: _columns(probe, seen) for probe in sorted({probe for one in seen for probe in one})},
        "waits": {number: asdict(raw) for number, raw in record.waits.items()},
    }


def _spec(spec: StudySpec) -> dict[str, Any]:
    """Return a study's spec, a script of its own by its name alone: where it lay is nobody's business."""
    reported = spec.model_dump(mode="json")
    return {**reported, "workload": {**reported["workload"], "name": Path(spec.workload.name).name}}


def _trial(trial: Trial, samples: Sequence[Sample], common: Mapping[str, str]) -> dict[str, Any]:
    measured = [sample for sample in samples if sample.step is Step.MEASURE]
    return {
        "id": trial.id,
        "block": trial.block,
        "session": trial.session,
        "position": trial.position,
        "candidate": trial.candidate,
        "started": round(trial.started),
        "state": trial.state.value,
        "purpose": trial.purpose.value,
        "in_force": {n: v for n, v in trial.in_force.items() if n.startswith(_VARIABLES) and common.get(n) != v},
        "costs": {name: _short(value) for name, value in asdict(trial.costs).items()} if trial.costs else None,
        "samples": [[_short(getattr(sample, name)) for name in _SAMPLE] for sample in measured],
    }


def _columns(probe: str, seen: Sequence[Mapping[str, Watched]]) -> dict[str, Any]:
    empty = Watched(probe, 0.0)
    own = [one.get(probe, empty) for one in seen]
    names = sorted({name for one in own for name in one.counters if not name.startswith(_UNREAD)})
    gauges = sorted({name for one in own for name in one.gauges})
    counters = {name: [_short(one.counters.get(name)) for one in own] for name in names}
    return {
        "facts": [[_short(facts[name]) for name in _WATCHED] for facts in map(asdict, own)],
        "counters": {name: values for name, values in counters.items() if any(values)},
        "still": [n for n, values in counters.items() if set(values) == {0.0}] if probe not in _ABSENT_IS_NONE else [],
        "gauges": {
            name: [[_short(getattr(g, f.name)) for f in fields(Gauge)] if (g := one.gauges.get(name)) else None for one in own]
            for name in gauges
        },
    }


def _short(value: Any) -> Any:
    return float(f"{value:.5g}") if isinstance(value, float) else value


if __name__ == "__main__":
    with Store.open(Path(sys.argv[1])) as store:
        text = json.dumps(thin(store.read()), separators=(",", ":"))
    (RECORDED / f"{sys.argv[2]}.json").write_text(text + "\n", encoding="utf-8")
