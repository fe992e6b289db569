"""What stands in the rows of a study's database, as the nouns of the model, and the other way round."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from sqlalchemy import Row

from dialin.model.evidence import Gauge, RawWaits, WaitRow, Watched
from dialin.model.progress import Progress, SessionState, Standing
from dialin.model.trial import Block, Costs, Failure, Purpose, Sample, Step, Trial, TrialState, VariableChange, WarmUpEnd


def candidate(row: Row[Any]) -> dict[str, Any]:
    """Return the fields of a row's candidate."""
    return {"name": row.name, "setting": row.setting, "server": row.server, "born": row.born}


def block(row: Row[Any]) -> Block:
    """Return a row's block."""
    return Block(row.number, Purpose(row.purpose), tuple(row.candidates))


def trial_row(trial: Trial) -> dict[str, Any]:
    """Return a trial as its row."""
    return {
        "id": trial.id,
        "block": trial.block,
        "session": trial.session,
        "position": trial.position,
        "candidate": trial.candidate,
        "state": trial.state,
        "started": trial.started,
        "steps": {step.value: seconds for step, seconds in trial.steps.items()},
        "warm_up_end": trial.warm_up_end,
        "in_force": dict(trial.in_force),
        "real": dict(trial.real),
        "costs": asdict(trial.costs) if trial.costs else None,
        "conditions": {when: dict(figures) for when, figures in trial.conditions.items()},
        "failure": asdict(trial.failure) if trial.failure else None,
        "purpose": trial.purpose,
        "changes": [asdict(change) for change in trial.changes],
        "host": trial.host,
    }


def trial(row: Row[Any]) -> Trial:
    """Return a row's trial."""
    return Trial(
        id=row.id,
        block=row.block,
        session=row.session,
        position=row.position,
        candidate=row.candidate,
        state=TrialState(row.state),
        started=row.started,
        steps={Step(step): seconds for step, seconds in row.steps.items()},
        warm_up_end=WarmUpEnd(row.warm_up_end) if row.warm_up_end else None,
        in_force=row.in_force,
        real=row.real,
        costs=Costs(**row.costs) if row.costs else None,
        conditions=row.conditions,
        failure=Failure(**{**row.failure, "step": Step(row.failure["step"])}) if row.failure else None,
        purpose=Purpose(row.purpose),
        changes=tuple(VariableChange(**{**change, "step": Step(change["step"])}) for change in row.changes),
        host=row.host,
    )


def sample(row: Row[Any]) -> Sample:
    """Return a row's sample."""
    return Sample(
        second=row.second,
        at=row.at,
        step=Step(row.step),
        tps=row.tps,
        reads=row.reads,
        writes=row.writes,
        other=row.other,
        latency_ms=row.latency_ms,
        errors=row.errors,
        reconnects=row.reconnects,
        gap=row.gap,
        stolen=row.stolen,
        pressure=row.pressure,
        threads=row.threads,
        seconds=row.seconds,
    )


def progress(stands: Mapping[str, Any]) -> Progress:
    """Return a stored progress."""
    step = Step(stands["step"]) if stands["step"] else None
    standings = {name: Standing(**figures) for name, figures in stands["standings"].items()}
    return Progress(**{**stands, "session": SessionState(stands["session"]), "step": step, "standings": standings})


def watched(saw: Mapping[str, Any]) -> Watched:
    """Return stored readings of a probe."""
    gauges = {name: Gauge(**figures) for name, figures in saw["gauges"].items()}
    return Watched(**{**saw, "gauges": gauges, "notes": tuple(saw["notes"])})


def waits(summary: Mapping[str, Any]) -> RawWaits:
    """Return a stored summary of raw waits."""
    rows = tuple(WaitRow(**{**row, "histogram": tuple(row["histogram"])}) for row in summary["rows"])
    return RawWaits(**{**summary, "rows": rows, "notes": tuple(summary["notes"])})
