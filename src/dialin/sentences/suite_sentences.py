"""The joint result of a suite in sentences."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from dialin.model.suite import (
    BarReason,
    Gate,
    GateState,
    Margin,
    SuiteCandidate,
    SuiteCell,
    SuiteOutcome,
    SuitePlan,
    SuiteResult,
)
from dialin.model.verdict import CandidateState
from dialin.sentences.changes import change_with_confidence
from dialin.text import about, change, counted, exact_percent, how_to_resume, listed, percent, visible

_OUTCOMES = {
    SuiteOutcome.BETTER: "Better, under no workload worse",
    SuiteOutcome.SAFE_CHOICE: "Safe choice",
    SuiteOutcome.TRADE_OFF: "Trade-off",
    SuiteOutcome.UNGUARDED: "Inconclusive",
    SuiteOutcome.KEEP: "Keep the baseline",
    SuiteOutcome.IDENTICAL: "Identical candidates, no difference claimed",
    SuiteOutcome.FALSE_CLAIM: "Identical candidates came out as different",
    SuiteOutcome.INCONCLUSIVE: "Inconclusive",
}

_GATES = {GateState.PASSED: "Passed", GateState.WORSE: "Failed", GateState.OPEN: "Not answered"}

_BARRED = {
    BarReason.UNSAFE: "its server failed more often than the baseline's",
    BarReason.NOT_MEASURED: "it could not be measured under every workload",
    BarReason.NO_CLAIM: "something else could explain a difference under some workload (see its study)",
    BarReason.WEAKER_DURABILITY: "it weakens durability (--accept-weaker-durability allows that)",
}

COSTS = {"server CPU": "CPU", "context switches": "switches", "read": "KiB read", "written": "KiB written"}
"""The costs per operation that a suite shows, by their names in `dialin explain`, with short titles."""

_NAMED = 3
"""Workloads that a sentence names at most."""


def outcome_text(result: SuiteResult) -> str:
    """Return the outcome in a few words; where the suite has a gate, its answer."""
    return _OUTCOMES[result.outcome] if result.gate is None else _GATES[result.gate.state]


def suite_headline(plan: SuitePlan, result: SuiteResult) -> str:
    """Return the result of a suite in one sentence or two; where it has a gate, its answer comes first."""
    if result.gate is None:
        return _headline(plan, result)
    over_mix = [f"{one.full} is {_mean(result, one)}" for one in result.others if one.mean][:_NAMED]
    return " ".join([gate_sentence(result, result.gate), *([f"Over the mix, {'; '.join(over_mix)}."] if over_mix else [])])


def _headline(plan: SuitePlan, result: SuiteResult) -> str:
    margin = exact_percent(plan.worthwhile if plan.fail_if_worse is None else plan.fail_if_worse)
    chosen = _subject(result)
    over_mix = f"{_mean(result, chosen)} over the mix"
    match result.outcome:
        case SuiteOutcome.BETTER:
            return f"Use {chosen.full}: {over_mix}, and no workload is worse by more than {margin}."
        case SuiteOutcome.SAFE_CHOICE:
            return f"{chosen.full} is a safe choice: {over_mix}, and no workload is worse by more than {margin}."
        case SuiteOutcome.TRADE_OFF:
            return f"{chosen.full} is a trade-off: {over_mix}{_signs(result, chosen)}."
        case SuiteOutcome.UNGUARDED:
            where = brief_names(chosen.unguarded)
            return (
                f"Inconclusive: {chosen.full} is {over_mix}{_signs(result, chosen)}, but it is not shown that no workload is "
                f"worse by more than {margin}: {where}."
            )
        case SuiteOutcome.KEEP:
            return f"Keep {result.candidate(result.baseline).full}, the baseline: {_of_others(plan, result)}."
        case SuiteOutcome.IDENTICAL:
            return _of_identical(result)
        case SuiteOutcome.FALSE_CLAIM:
            return _of_false_claim(result)
        case SuiteOutcome.INCONCLUSIVE if chosen.mean is None:
            lacking = [row.name for row in result.rows if any(cell.ratio is None for cell in row.cells)]
            under = f" under {brief_names(lacking)}" if lacking else ""
            return f"Inconclusive: too few trials could be compared{under} for a mean over all workloads."
        case SuiteOutcome.INCONCLUSIVE:
            barred = f"; it is not recommended, because {_BARRED[chosen.barred]}" if chosen.barred else ""
            return f"Inconclusive: {chosen.full} is {over_mix}{_signs(result, chosen)}{barred}."


def _of_identical(result: SuiteResult) -> str:
    noise = sorted((row.noise, visible(row.name)) for row in result.rows if row.noise is not None)
    ends = [f"{percent(sd)} ({name})" for sd, name in dict.fromkeys((noise[0], noise[-1]))]
    return (
        f"{len(result.candidates)} identical candidates: no difference is claimed under any of "
        f"{counted(len(result.rows), 'workload')} or over the mix, as it should be. Trial-to-trial SD {' to '.join(ends)}."
    )


def _of_false_claim(result: SuiteResult) -> str:
    rows = [row.name for row in result.rows if any(row.name in (*one.better, *one.worse) for one in result.candidates)]
    where = f" under {brief_names(rows)}" if rows else ""
    return f"Identical candidates came out as different{where}: comparisons on this machine cannot be trusted."


def _subject(result: SuiteResult) -> SuiteCandidate:
    """Return the candidate that a sentence is about: the one recommended, else the best of the others in the mean."""
    if result.recommended != result.baseline:
        return result.candidate(result.recommended)
    return max(result.others, key=lambda one: one.mean.mean if one.mean else 0.0)


def _mean(result: SuiteResult, one: SuiteCandidate) -> str:
    return change_with_confidence(one.mean, result.confidence) if one.mean else "not comparable yet"


def _of_others(plan: SuitePlan, result: SuiteResult) -> str:
    best = _subject(result)
    signs = [f"{one.full}{_signs(result, one)}" for one in result.others if one.is_trade_off]
    trade_offs = f". Trade-offs: {'; '.join(signs)}" if signs else "" if best.is_trade_off else _signs(result, best)
    count = len(result.others)
    which = f"{best.full} is" if count == 1 else f"the best of {counted(count, 'other candidate')}, {best.full}, is"
    matters = f" ({exact_percent(plan.worthwhile)} is worthwhile)"
    return f"{which} {_mean(result, best)} over the mix{matters}{trade_offs}"


def _signs(result: SuiteResult, one: SuiteCandidate) -> str:
    """Return under which workloads a candidate differs, with the changes: `, better under A (+6.0 %) and worse under B`."""
    every = (
        ("better", one.better),
        ("likely better", one.likely_better),
        ("worse", one.worse),
        ("likely worse", one.likely_worse),
    )
    parts = [f"{word} under {_with_changes(result, one, rows)}" for word, rows in every if rows]
    return f", {listed(parts)}" if parts else ""


def _with_changes(result: SuiteResult, one: SuiteCandidate, rows: Sequence[str]) -> str:
    return brief_names(rows, {name: _change_under(result, name, one.name) for name in rows})


def brief_names(rows: Sequence[str], changes: dict[str, str] | None = None) -> str:
    """Return the names of workloads, of many only the first and how many more; `changes` are what follows each."""
    names = [f"{visible(name)}{(changes or {}).get(name, '')}" for name in rows[:_NAMED]]
    more = len(rows) - _NAMED
    return listed([*names, f"{more} more"] if more > 0 else names)


def _cell(result: SuiteResult, workload: str, candidate: str) -> SuiteCell | None:
    """Return the cell of a candidate under a workload; None where its study has not begun."""
    return next((row.cell(candidate) for row in result.rows if row.name == workload), None)


def _change_under(result: SuiteResult, workload: str, candidate: str) -> str:
    cell = _cell(result, workload, candidate)
    if cell is None or cell.ratio is None:
        return " (server failed)" if cell and cell.margin is Margin.FAILED else " (not measured)"
    return f" ({change(cell.ratio.mean)})"


def gate_sentence(result: SuiteResult, gate: Gate) -> str:
    """Return the answer to `--fail-if-worse`, and how much more time would give one."""
    margin = exact_percent(gate.margin)
    match gate.state:
        case GateState.PASSED:
            return f"Passed: no workload is worse by more than {margin}."
        case GateState.WORSE:
            return f"Failed: worse by more than {margin} under {_pairs(result, gate.worse)}."
        case GateState.OPEN:
            if gate.minutes_needed is None:
                return f"Not answered: {_why_open(result, gate)}."
            where = _pairs(result, gate.open)
            more = about(60 * gate.minutes_needed)
            return (
                f"Not answered yet: whether it is worse by more than {margin} under {where}. About {more} more would show it."
            )


def next_step(plan: SuitePlan, result: SuiteResult, directory: PurePath, *, is_over: bool) -> str:
    """Return how more trials may answer what is open; empty where nothing is, or where they would not.

    `is_over` says that the suite was not interrupted: it takes more minutes.
    """
    if result.outcome is SuiteOutcome.FALSE_CLAIM:
        return "What disturbs this machine: dialin doctor"
    if result.is_answered:
        return ""
    if result.gate is not None and result.gate.minutes_needed is not None:
        more = result.gate.minutes_needed
        return f"About {about(60 * more)} more would show it: {how_to_resume(directory, result.minutes + more + 1)}"
    if result.outcome is not SuiteOutcome.UNGUARDED and all(row.decided for row in result.rows):
        return ""
    return f"More trials may answer it: {how_to_resume(directory, 2 * plan.minutes if is_over else None)}"


def _why_open(result: SuiteResult, gate: Gate) -> str:
    """Return why more time does not answer the question of a gate, with the workloads of each reason."""
    by_reason: dict[str, list[tuple[str, str]]] = {}
    failed = {row.name for row in result.rows if row.failure}
    for row, name in gate.open:
        cell = _cell(result, row, name)
        if row in failed:
            reason = "an error ended it (see below)"
        elif cell is None or cell.ratio is None or cell.ratio.low is None:
            reason = "too few trials were completed"
        elif cell.state is CandidateState.NO_CLAIM:
            reason = "something else could explain a difference (see its study)"
        else:
            reason = f"the difference is too near {exact_percent(gate.margin)}, or too noisy,"
        by_reason.setdefault(reason, []).append((row, name))
    return "; ".join(f"{reason} under {_pairs(result, pairs)}" for reason, pairs in by_reason.items())


def _pairs(result: SuiteResult, pairs: Sequence[tuple[str, str]]) -> str:
    several = len(result.others) > 1
    texts = {
        f"{row}{f' with {result.candidate(name).label}' if several else ''}": _change_under(result, row, name)
        for row, name in pairs
    }
    return brief_names(list(texts), texts)
