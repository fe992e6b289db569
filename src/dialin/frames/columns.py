"""The columns of each frame, with types, meanings and units: the frames, and their tables in `docs/`, are made from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import polars as pl
from polars.datatypes import DataType, DataTypeClass

Kind = DataType | DataTypeClass

TIME = pl.Datetime("us", "UTC")


class FrameColumn(NamedTuple):
    kind: Kind
    meaning: str


Columns = Mapping[str, FrameColumn]

_CANDIDATE = FrameColumn(pl.String, "the candidate's name")
_TRIAL = FrameColumn(pl.Int32, "the trial's number in the study, from 1")
_BLOCK = FrameColumn(pl.Int32, "the number of its block, from 1")
_PURPOSE = FrameColumn(
    pl.String,
    "what it is for: race (decides), confirm (confirmation trials), waits (raw waits), profile (a CPU profile), search (a "
    "tune), observe (a live server before its study), long (whether the gain of a choice lasts)",
)
_OF_A_TRIAL = {"trial": _TRIAL, "block": _BLOCK, "candidate": _CANDIDATE, "purpose": _PURPOSE}
_PROBE = FrameColumn(pl.String, "the probe that read it, such as status (docs/probes.md)")
_FIGURE = FrameColumn(pl.String, "the figure's name, as the server or the probe calls it")
_SECONDS = FrameColumn(pl.Float64, "seconds of wall clock between the first and the last reading")


def _with_interval(name: str, meaning: str) -> dict[str, FrameColumn]:
    return {
        name: FrameColumn(pl.Float64, meaning),
        f"{name}_low": FrameColumn(pl.Float64, "lower end of its interval; null where there is none"),
        f"{name}_high": FrameColumn(pl.Float64, "upper end of its interval"),
    }


CANDIDATES: Columns = {
    "candidate": _CANDIDATE,
    "baseline": FrameColumn(pl.Boolean, "whether the others are measured against it"),
    "server": FrameColumn(pl.String, "the build that it runs on, as requested"),
    "setting": FrameColumn(pl.String, "what it sets, in one line"),
    "done": FrameColumn(pl.Int32, "completed trials"),
    "failed": FrameColumn(pl.Int32, "trials that failed"),
}

TRIALS: Columns = {
    "trial": _TRIAL,
    "block": _BLOCK,
    "position": FrameColumn(pl.Int32, "its place in the block's order, from 1"),
    "session": FrameColumn(pl.Int32, "which run of dialin measured it; a study that was resumed has several"),
    "candidate": _CANDIDATE,
    "purpose": _PURPOSE,
    "state": FrameColumn(pl.String, "running, done, failed or interrupted; an interrupted one counts for nothing"),
    "started": FrameColumn(TIME, "when it started, UTC"),
    "wait_s": FrameColumn(pl.Float64, "seconds until an attached server that had gone away answered again; else null"),
    "pause_s": FrameColumn(pl.Float64, "seconds that a live server kept the baseline until it could be changed; else null"),
    "restore_s": FrameColumn(pl.Float64, "seconds of restoring the data; null, as for each step, where it did not happen"),
    "boot_s": FrameColumn(pl.Float64, "seconds of starting the server"),
    "set_s": FrameColumn(pl.Float64, "seconds of setting the variables of a running server"),
    "verify_s": FrameColumn(pl.Float64, "seconds of reading back the effective values"),
    "warm_up_s": FrameColumn(pl.Float64, "seconds of load that is not measured yet"),
    "measure_s": FrameColumn(pl.Float64, "seconds of the measured window"),
    "stop_s": FrameColumn(pl.Float64, "seconds of stopping the server"),
    "warm_up_end": FrameColumn(pl.String, "why the warm-up ended: steady or limit"),
    "window_s": FrameColumn(pl.Float64, "seconds of the window that CPU was counted over"),
    "driver_cpu_s": FrameColumn(pl.Float64, "CPU seconds of the load driver in it"),
    "server_cpu_s": FrameColumn(pl.Float64, "CPU seconds of the server; null where it runs elsewhere"),
    "machine_busy_s": FrameColumn(pl.Float64, "CPU seconds of everything on the machine"),
    "cpus": FrameColumn(pl.Int32, "how many CPUs the machine has"),
    "driver_cpus": FrameColumn(pl.Int32, "how many of them the driver may use"),
    "failed_in": FrameColumn(pl.String, "the step that it failed in"),
    "fault": FrameColumn(pl.String, "whose fault it was: server, setting, workload, connection, machine, outside or guard"),
    "reason": FrameColumn(pl.String, "why it failed, one line"),
    "log_tail": FrameColumn(pl.String, "the last lines of the log of what failed"),
}

VARIABLES: Columns = {
    **_OF_A_TRIAL,
    "variable": FrameColumn(pl.String, "a server variable"),
    "asked": FrameColumn(pl.String, "the requested value; null if none was requested"),
    "in_force": FrameColumn(pl.String, "the value that the server reported when it was ready"),
    "real": FrameColumn(pl.String, "the number of real objects behind it, where they can be counted"),
}

SAMPLES: Columns = {
    "candidate": _CANDIDATE,
    "block": _BLOCK,
    "trial": _TRIAL,
    "purpose": _PURPOSE,
    "state": FrameColumn(pl.String, "the trial's: running, done, failed or interrupted"),
    "step": FrameColumn(pl.String, "warm_up or measure"),
    "second": FrameColumn(pl.Int32, "counted from 1 within the trial, warm-up included; for a timed query, the run"),
    "time": FrameColumn(TIME, "when it arrived, UTC"),
    "threads": FrameColumn(pl.Int32, "connections that worked at once"),
    "seconds": FrameColumn(pl.Float64, "seconds that it covers: 1, or the time of a run of a timed query"),
    "tps": FrameColumn(pl.Float64, "transactions per second"),
    "reads": FrameColumn(pl.Float64, "read queries per second"),
    "writes": FrameColumn(pl.Float64, "write queries per second"),
    "other": FrameColumn(pl.Float64, "other queries per second (begin, commit)"),
    "latency_ms": FrameColumn(
        pl.Float64, "the second's percentile of transaction latency (`--percentile`, else p95), milliseconds"
    ),
    "errors": FrameColumn(pl.Float64, "ignored errors per second (such as deadlocks)"),
    "reconnects": FrameColumn(pl.Float64, "reconnects per second"),
    "gap_s": FrameColumn(pl.Float64, "longest stall of the host itself within it, seconds"),
    "stolen": FrameColumn(pl.Float64, "share of the CPU time that the hypervisor gave to others, 0 to 1; null if unknown"),
    "pressure": FrameColumn(pl.Float64, "share of the second in which some task waited for a CPU, 0 to 1; null if unknown"),
    "lost": FrameColumn(pl.Boolean, "the host itself stalled: the second is excluded from every figure of the verdict"),
}

VERDICT: Columns = {
    "candidate": _CANDIDATE,
    "state": FrameColumn(
        pl.String,
        "against the baseline: better, likely_better, safe_choice, equal, too_close, likely_worse, worse, unsafe, no_claim or "
        "not_measured",
    ),
    "recommended": FrameColumn(pl.Boolean, "whether it is what the study recommends"),
    "baseline": FrameColumn(pl.Boolean, "whether the others are measured against it"),
    **_with_interval("tps", "throughput: transactions divided by measured seconds"),
    **_with_interval("ratio", "throughput as a ratio to the baseline's: 1.05 is 5 % more"),
    **_with_interval("qps", "queries per second: tps times the candidate's queries per transaction"),
    **_with_interval("typical_ratio", "typical speed, which forgives stalls, as a ratio to the baseline's"),
    "stall_cost": FrameColumn(pl.Float64, "share of the typical speed that stalls cost, 0 to 1"),
    **_with_interval("goal_ratio", "the measure of the goal as a ratio to the baseline's"),
    "probability": FrameColumn(pl.Float64, "probability of being within the worthwhile difference of the best, 0 to 1"),
    **_with_interval("cv", "coefficient of variation of the seconds of a trial: 0.04 is 4 %"),
    **_with_interval("stalls_per_1000", "measured seconds below half of their trial's median, per 1000"),
    **_with_interval("latency_ms", "the percentile of latency, milliseconds"),
    **_with_interval("latency_ratio", "the same as a ratio to the baseline's"),
    "worst_second_tps": FrameColumn(pl.Float64, "the lowest measured second of any trial, transactions per second"),
    "errors_per_s": FrameColumn(pl.Float64, "ignored errors per second"),
    "trials": FrameColumn(pl.Int32, "completed trials"),
    "failed": FrameColumn(pl.Int32, "trials that failed"),
    "unsteady": FrameColumn(pl.Int32, "trials that did not become steady"),
    "lost_seconds": FrameColumn(pl.Int32, "seconds excluded because the host stalled"),
    "effective_seconds": FrameColumn(pl.Float64, "how many independent seconds the measured seconds are worth"),
    "pareto": FrameColumn(pl.Boolean, "no other candidate is both faster and steadier"),
    "weaker_durability": FrameColumn(pl.List(pl.String), "what it can lose in a crash that the baseline keeps"),
}

LOOKS: Columns = {
    "look": FrameColumn(pl.Int32, "counted from 1"),
    "blocks": FrameColumn(pl.Int32, "complete blocks by then"),
    "trials": FrameColumn(pl.Int32, "trials of the race that had ended"),
    "decided": FrameColumn(pl.Boolean, "whether it ended the study"),
}

LOG: Columns = {
    "time": FrameColumn(TIME, "when the line was written, UTC"),
    "text": FrameColumn(pl.String, "what happened, in words"),
}

COUNTERS: Columns = {
    **_OF_A_TRIAL,
    "probe": _PROBE,
    "name": _FIGURE,
    "rise": FrameColumn(pl.Float64, "by how much it rose over the measured window, in its own unit"),
    "seconds": _SECONDS,
    "per_second": FrameColumn(pl.Float64, "its increase per second"),
}

GAUGES: Columns = {
    **_OF_A_TRIAL,
    "probe": _PROBE,
    "name": _FIGURE,
    "first": FrameColumn(pl.Float64, "its value at the start of the measured window, in its own unit"),
    "last": FrameColumn(pl.Float64, "its value at the end of the window"),
    "least": FrameColumn(pl.Float64, "the lowest reading"),
    "most": FrameColumn(pl.Float64, "the highest reading"),
    "mean": FrameColumn(pl.Float64, "the mean of all readings"),
}

EVIDENCE: Columns = {
    **_OF_A_TRIAL,
    "time": FrameColumn(TIME, "when it was read, UTC"),
    "probe": _PROBE,
    "name": _FIGURE,
    "value": FrameColumn(pl.Float64, "a counter's increase per second since the previous reading; a gauge's value"),
}

WAITS: Columns = {
    **_OF_A_TRIAL,
    "instrument": FrameColumn(pl.String, "the performance schema's, such as wait/synch/mutex/innodb/buf_pool_mutex"),
    "operation": FrameColumn(pl.String, "such as shared_lock; (all) for all of the instrument together"),
    "count": FrameColumn(pl.Int64, "how many waits"),
    "seconds": FrameColumn(pl.Float64, "seconds in which they were collected"),
    "mean_ns": FrameColumn(pl.Float64, "their mean time, nanoseconds"),
    "p50_ns": FrameColumn(pl.Float64, "the median"),
    "p90_ns": FrameColumn(pl.Float64, "the 90th percentile"),
    "p99_ns": FrameColumn(pl.Float64, "the 99th percentile"),
    "p999_ns": FrameColumn(pl.Float64, "the 99.9th percentile"),
    "max_ns": FrameColumn(pl.Float64, "the longest"),
    "total_ns": FrameColumn(pl.Float64, "the sum of all"),
    "worst_share": FrameColumn(pl.Float64, "share of the total that the longest 1 % are, 0 to 1"),
    "ten_share": FrameColumn(pl.Float64, "share of the total that the ten longest are, 0 to 1"),
}

WAIT_HISTOGRAMS: Columns = {
    **_OF_A_TRIAL,
    "instrument": WAITS["instrument"],
    "operation": WAITS["operation"],
    "from_ns": FrameColumn(
        pl.Float64, "waits of this length or longer, nanoseconds; the first row holds those below 1 ns, too"
    ),
    "below_ns": FrameColumn(pl.Float64, "and shorter than this: twice as long"),
    "count": FrameColumn(pl.Int64, "how many"),
}

RAW_WAITS: Columns = {
    **_OF_A_TRIAL,
    "thread": FrameColumn(pl.UInt32, "the server's number of the thread that waited"),
    "event": FrameColumn(pl.UInt64, "the number of the event within its thread"),
    "instrument": WAITS["instrument"],
    "operation": FrameColumn(pl.String, "such as shared_lock"),
    "start_ps": FrameColumn(pl.UInt64, "when it started by the server's timer, picoseconds since the server started"),
    "wait_ps": FrameColumn(pl.UInt64, "how long it took, picoseconds"),
}

TUNE_TRIALS: Columns = {
    "number": FrameColumn(pl.Int32, "its place in the order, from 1"),
    "trial": _TRIAL,
    "stage": FrameColumn(pl.String, "what it is for: start, anchor (the baseline again), search, refine or proof"),
    "candidate": _CANDIDATE,
    "state": FrameColumn(pl.String, "done or failed"),
    "measure_s": FrameColumn(pl.Float64, "seconds that it measured; null where it failed before"),
    "tps": FrameColumn(pl.Float64, "transactions per second; null where it failed"),
    "latency_ms": FrameColumn(pl.Float64, "the percentile of transaction latency, milliseconds; null where it failed"),
    "cv": FrameColumn(pl.Float64, "coefficient of variation of its seconds; null where it failed"),
    "improvement": FrameColumn(
        pl.Float64,
        "by how much it was expected to improve on the best setting so far, log scale; null where that was not its aim",
    ),
    "reason": FrameColumn(pl.String, "why it failed, one line"),
}

TUNE_VARIABLES: Columns = {
    "variable": FrameColumn(pl.String, "a server variable"),
    "baseline": FrameColumn(pl.String, "the baseline's value"),
    "best": FrameColumn(pl.String, "the value of the best setting by the model, the baseline's where that leaves it alone"),
    "recommended": FrameColumn(pl.String, "the recommended value; null where the baseline's stays"),
    "effect": FrameColumn(pl.Float64, "by how much the measure changes along its range at most: 0.05 is 5 %; by the model"),
    **_with_interval("carries", "the measure of what is recommended as a ratio to that without this change; null if unchanged"),
    "carries_by": FrameColumn(pl.String, "what that rests on: proof (confirmation trials) or model (of all trials)"),
}

TUNE_RESPONSES: Columns = {
    "variable": FrameColumn(pl.String, "a server variable"),
    "value": FrameColumn(pl.String, "one of its values"),
    "number": FrameColumn(pl.Float64, "the same as a number; null where it is a word"),
    **_with_interval(
        "ratio",
        "the measure with the best setting and this value as a ratio to that with the baseline's value of it, by the model",
    ),
}

EVERY: Mapping[str, Columns] = {
    "candidates": CANDIDATES,
    "trials": TRIALS,
    "samples": SAMPLES,
    "verdict": VERDICT,
    "variables": VARIABLES,
    "looks": LOOKS,
    "log": LOG,
    "counters": COUNTERS,
    "gauges": GAUGES,
    "evidence": EVIDENCE,
    "waits": WAITS,
    "wait_histograms": WAIT_HISTOGRAMS,
    "tune_trials": TUNE_TRIALS,
    "tune_variables": TUNE_VARIABLES,
    "tune_responses": TUNE_RESPONSES,
    "raw_waits": RAW_WAITS,
}
"""The columns of every frame, by the frame's name."""


_KINDS: Mapping[Kind, str] = {
    pl.String: "text",
    pl.Boolean: "true or false",
    pl.Float64: "number",
    TIME: "time",
    pl.List(pl.String): "list of text",
}


def schema(columns: Columns) -> dict[str, Kind]:
    return {name: column.kind for name, column in columns.items()}


def kind(column: FrameColumn) -> str:
    """Return the type of a column's values in words, such as `whole number`."""
    return _KINDS.get(column.kind, "whole number")
