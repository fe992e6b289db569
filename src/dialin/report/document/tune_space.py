"""What a tune may change, and what it leaves out and why."""

from __future__ import annotations

from collections.abc import Mapping

from dialin.model.dimension import Dimension
from dialin.model.setting import parse_value
from dialin.model.study import StudySpec
from dialin.model.tune import LeftOutReason
from dialin.report.document.parts import Table, text_table
from dialin.report.tune_words import range_text, value_text
from dialin.text import NOTHING, visible


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
