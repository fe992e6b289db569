"""The sentences of notes on hosts that differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.model.study import StudySpec
from dialin.model.verdict import Estimate
from dialin.report.names import name_in_sentence
from dialin.report.too_noisy import is_too_noisy, too_noisy
from dialin.text import change, counted, exact_percent, listed, visible

Figures = Mapping[str, Any]
"""The data of a note."""


def effects_by_host(data: Figures) -> str:
    """Return the effect of a candidate on each host, or on each kind of host."""
    effects = data["effects"]
    return "; ".join(f"{_effect(effect, data['worthwhile'], data['confidence'])} on {_group(effect)}" for effect in effects)


def _effect(effect: Figures, worthwhile: float, confidence: float) -> str:
    ratio = Estimate(mean=effect["ratio"], low=effect["low"], high=effect["high"])
    if is_too_noisy(ratio):
        return too_noisy()
    interval = f" ({exact_percent(confidence)} CI {change(ratio.low)} to {change(ratio.high)})" if ratio.low is not None else ""
    may_be_none = ratio.low is not None and ratio.high is not None and ratio.low <= 1 <= ratio.high
    if may_be_none or abs(ratio.mean - 1) <= worthwhile:
        return f"no {'difference shown' if may_be_none else 'worthwhile difference'}, {change(ratio.mean)}{interval}"
    return f"{change(ratio.mean)}{interval}"


def _group(effect: Figures) -> str:
    kind, hosts = effect["kind"], effect["hosts"]
    if not kind:
        return listed([visible(host) for host in hosts])
    return f"{describe_kind(kind)} ({counted(len(hosts), 'host')})"


def describe_kind(kind: Figures) -> str:
    """Return what a kind of host is: CPU model, how many, memory and disk, as far as they are known."""
    parts = [str(kind["cpu"])] if "cpu" in kind else []
    parts += [counted(kind["cpus"], "CPU")] if "cpus" in kind else []
    parts += [f"{kind['memory_gb']} GiB"] if "memory_gb" in kind else []
    parts += [str(kind["disk"])] if "disk" in kind else []
    return visible(", ".join(parts))


def _disagree(spec: StudySpec, data: Figures) -> str:
    return (
        f"Hosts disagree on {name_in_sentence(spec, data['candidate'])}, so that nothing is claimed for all of them: "
        f"{effects_by_host(data)}. Choose for each kind of host, or study each by itself"
    )


def _not_on_each_kind(spec: StudySpec, data: Figures) -> str:
    return (
        f"{name_in_sentence(spec, data['candidate'])} is better on all hosts together, but not shown to be on every kind of "
        f"host, so that nothing is claimed for all of them: {effects_by_host(data)}. More minutes can show it"
    )


def _differ(spec: StudySpec, data: Figures) -> str:
    return f"The effect of {name_in_sentence(spec, data['candidate'])} depends on the host: {effects_by_host(data)}"


SENTENCES: Mapping[str, Callable[[StudySpec, Figures], str]] = {
    "hosts_disagree": _disagree,
    "hosts_differ": _differ,
    "not_on_each_kind": _not_on_each_kind,
}
"""By the code of the note."""
