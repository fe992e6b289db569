"""What a tune may change, what it leaves out and why, and what its minutes can show."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.dimension import Dimension
from dialin.model.setting import parse_value
from dialin.model.study import StudySpec
from dialin.model.tune import LeftOutReason
from dialin.question.plan import Plan
from dialin.report.document.parts import Table, text_table
from dialin.report.tune_words import range_text, value_text
from dialin.search.study_tuner import make_options
from dialin.search.tune_budget import MOST_VARIABLES, minutes_to_separate, provable_gain, separable_variables
from dialin.text import NOTHING, counted, percent, visible


def space_table(spec: StudySpec) -> Table:
    """Return what a tune may change, a row for each variable."""
    variables = spec.tune.variables if spec.tune else ()
    titles = ["variable", "range", "baseline", "first try", "change"]
    rows = [
        [
            visible(one.name),
            range_text(one),
            value_text(one.name, one.default),
            value_text(one.name, one.rule) if one.rule is not None else NOTHING,
            "restart" if one.static else "SET",
            *([visible(_why(one))] if any(map(_why, variables)) else []),
        ]
        for one in variables
    ]
    titles += ["why"] if any(map(_why, variables)) else []
    caption = "First try: what a rule of thumb recommends here."
    return text_table("tune-space-table", caption, titles, rows, empty="Nothing is tuned.")


def _why(one: Dimension) -> str:
    return "; ".join(filter(None, (one.reason, one.source if one.rule is not None else "")))


_LEFT_OUT: Mapping[LeftOutReason, str] = {
    LeftOutReason.BUDGET: "too few trials",
    LeftOutReason.LOAD: "no effect under this load",
    LeftOutReason.NEEDS: "no effect while another variable is as it is",
    LeftOutReason.LIMITED: "no effect while another variable is as it is",
    LeftOutReason.ROOM: "no room for more here, or no other value worth a try",
    LeftOutReason.DURABILITY: "durability (--accept-weaker-durability)",
    LeftOutReason.RESTART: "needs a restart",
    LeftOutReason.SERVICE: "set by the service",
}
"""Why a variable is left out."""


def left_out_pairs(spec: StudySpec) -> list[tuple[str, str]]:
    """Return why variables are not tuned, each reason with its variables; empty where the user named those that are."""
    names: dict[str, list[str]] = {}
    for one in spec.tune.left_out if spec.tune else ():
        by = f" ({one.by} = {value_text(one.by, parse_value(one.value))})" if one.by else ""
        names.setdefault(_LEFT_OUT[one.reason], []).append(f"{visible(one.name)}{visible(by)}")
    return [(reason, ", ".join(names[reason])) for reason in dict.fromkeys(_LEFT_OUT.values()) if reason in names]


def choice_text(spec: StudySpec, plan: Plan) -> str:
    """Return how many variables a tune takes that names none, why no more, and which budget would take all and pay."""
    if spec.tune is None or not spec.tune.left_out:
        return ""
    taken, cut = len(spec.tune.variables), [one for one in spec.tune.left_out if one.reason is LeftOutReason.BUDGET]
    text = f"About {counted(plan.blocks, 'trial')} can tell {counted(separable_variables(plan.blocks), 'variable')} apart"
    if not cut:
        return f"{text}; {taken} may matter here, and all are tuned."
    every = min(taken + len(cut), MOST_VARIABLES)
    minutes = minutes_to_separate(every, plan.trial_seconds)
    now, then = (smallest_gain(spec.model_copy(update={"minutes": one})) for one in (spec.minutes, minutes))
    finds = f", and would show a gain from {then} on{f' instead of {now}' if now and now != then else ''}" if then else ""
    return f"{text}, of {taken + len(cut)} that may matter here. --minutes {minutes} would tune {every}{finds}."


def smallest_gain(spec: StudySpec, noise: float | None = None, spent: float = 0.0) -> str:
    """Return the smallest gain that the proof of a tune can show, in percent; empty where it has too few trials for any.

    `noise` is the standard deviation of a trial of the proof, the expected one where it is None; `spent` are minutes.
    """
    if spec.tune is None:
        return ""
    gain = provable_gain(make_options(spec, spec.tune), restarts=bool(spec.tune.at_start), noise=noise, spent=spent)
    return percent(gain) if gain is not None and gain < 1 else ""
