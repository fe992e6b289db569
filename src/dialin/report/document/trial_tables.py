"""The trials of a study: their order, each with its times and CPU, and those that failed."""

from __future__ import annotations

from collections.abc import Sequence

from dialin.cause_sentences import with_advice
from dialin.evidence.server_metrics import ServerMetrics
from dialin.model.record import StudyRecord
from dialin.model.trial import Costs, Purpose, Step, Trial, TrialState
from dialin.report.charts.trial_series import Series
from dialin.report.document.figure_columns import Word
from dialin.report.document.parts import Cell, Code, Column, Fold, Group, Link, Part, Row, Table
from dialin.report.document.time_section import metrics_link
from dialin.sentences.load_units import units_of_record
from dialin.sentences.names import Naming
from dialin.text import NOTHING, clock_time, counted, duration, number, percent, visible, visible_lines

_PURPOSES = {
    Purpose.RACE: ("race", ""),
    Purpose.CONFIRM: ("confirm", ", confirmation"),
    Purpose.WAITS: ("waits", ", for waits"),
    Purpose.PROFILE: ("profile", ", for the profile"),
    Purpose.SEARCH: ("search", ", of the search"),
    Purpose.OBSERVE: ("observe", ", to observe"),
    Purpose.LONG: ("long window", ", long window"),
}
"""What a trial is for, in a word, and the text after the number of its block."""


def order(record: StudyRecord, series: Sequence[Series], names: Naming) -> Table:
    """Return the table of blocks, each with its trials in order and the mean of each."""
    blocks: dict[tuple[str, int, str], list[Series]] = {}
    for one in series:
        on_host = f" on {visible(one.trial.host)}" if len(record.hosts_with_trials) > 1 else ""
        blocks.setdefault((_PURPOSES[one.trial.purpose][1], one.trial.block, on_host), []).append(one)
    longest = max(map(len, blocks.values()), default=0)
    columns = [Column("block", "block", term=Word.BLOCK)]
    columns += [Column(f"place-{place}", str(place)) for place in range(1, longest + 1)]
    rows = []
    for (kind, block, on_host), placed in sorted(blocks.items(), key=lambda item: item[0]):
        cells = [_placed(one, names) for one in placed] + [Cell("")] * (longest - len(placed))
        rows.append(Row([Cell(f"block {block}{kind}{on_host}"), *cells]))
    caption = (
        "Each block runs its candidates in random order, left to right. The figure is the mean of the trial, "
        f"{units_of_record(record).rate}."
    )
    return Table("order-table", caption, columns, rows, "No trial has started yet.")


def _placed(one: Series, names: Naming) -> Cell:
    return Cell(
        names.labels[one.trial.candidate],
        [str(one.trial.state) if one.mean is None else number(one.mean)],
        candidate=one.trial.candidate,
        is_marked=one.trial.state is TrialState.FAILED,
        link=Link(_row_key(one.trial)),
    )


def _row_key(trial: Trial) -> str:
    """Return the key of a trial's row in the table of every trial; the page's script uses the same key."""
    return f"trial-{trial.id}"


def failures(record: StudyRecord, names: Naming) -> list[Part]:
    """Return the failed trials, each with its reason and the end of the server's log; nothing where none failed."""
    folds = []
    for one in record.trials:
        if one.failure is not None and one.state is TrialState.FAILED:
            reason = visible(with_advice(one.failure.cause))
            summary = f"Trial {one.id}, block {one.block}, {names.labels[one.candidate]}: {reason}"
            tail = visible_lines(one.failure.log_tail) or "Nothing was logged."
            code = Code(_failure_key(one), tail, "The end of the server's log", is_copied=False)
            folds.append(Fold(f"failure {one.id}", summary, [code]))
    return [Group("failures", "Failed trials", folds)] if folds else []


def _failure_key(trial: Trial) -> str:
    return f"failure-{trial.id}"


def every_trial(record: StudyRecord, series: Sequence[Series], names: Naming, metrics: ServerMetrics) -> Fold:
    """Return the table of all trials; `metrics` are those of their servers, to which it links."""
    columns = [
        Column("id", "trial", is_figure=True),
        Column("block", "block", is_figure=True, term=Word.BLOCK),
        *([Column("host", "host", 1)] if len(record.hosts_with_trials) > 1 else []),
        Column("candidate", "candidate"),
        Column("purpose", "for"),
        Column("state", "state"),
        Column("started", "began", 7),
        Column("warm_up", "warm-up", 6),
        Column("measured", "measured", 4),
        Column("lost", "host stalls, s", 5, is_figure=True, term=Word.HOST_STALL),
        Column("tps", units_of_record(record).title, is_figure=True),
        Column("server", "server CPUs", 2, is_figure=True),
        Column("driver", "driver", 3, is_figure=True),
    ]
    rows = [_row(one, names, metrics, has_hosts=len(record.hosts_with_trials) > 1) for one in series]
    caption = (
        "Trials in the order in which they ran; those for `race` decide, those for `confirm` do not. Times of day are UTC; "
        "CPU of the server is in CPUs, CPU of the driver is a share of its CPUs."
    )
    table = Table("trials-table", caption, columns, rows, "No trial has started yet.")
    return Fold("trials", f"{counted(len(rows), 'trial')} with their times and CPU", [table])


def _row(one: Series, names: Naming, metrics: ServerMetrics, *, has_hosts: bool) -> Row:
    trial = one.trial
    warm, measured = trial.steps.get(Step.WARM_UP), trial.steps.get(Step.MEASURE)
    ended = f", {trial.warm_up_end}" if trial.warm_up_end else ""
    cells = [
        Cell(str(trial.id), link=metrics_link(metrics, trial.id)),
        Cell(str(trial.block)),
        *([Cell(visible(trial.host))] if has_hosts else []),
        Cell(names.labels[trial.candidate], candidate=trial.candidate),
        Cell(_PURPOSES[trial.purpose][0]),
        Cell(
            str(trial.state) if one.steady else f"{trial.state}, not steady",
            link=Link(_failure_key(trial)) if trial.state is TrialState.FAILED and trial.failure else None,
        ),
        Cell(clock_time(trial.started)),
        Cell(NOTHING if warm is None else f"{duration(warm)}{ended}"),
        Cell(NOTHING if measured is None else duration(measured)),
        Cell(str(one.lost_seconds) if one.lost_seconds else ""),
        Cell(number(one.mean)),
        *map(Cell, _cpu(trial.costs)),
    ]
    return Row(cells, key=_row_key(trial))


def _cpu(costs: Costs | None) -> tuple[str, str]:
    """Return the number of CPUs that the server used, and the share of its CPUs that the driver used."""
    if costs is None or not costs.seconds:
        return NOTHING, NOTHING
    server = NOTHING if costs.server_cpu is None else number(costs.server_cpu / costs.seconds)
    return server, percent(costs.driver_cpu / costs.seconds / costs.driver_cpus) if costs.driver_cpus else NOTHING
