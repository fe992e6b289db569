"""Notes on hosts that differ."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dialin.model.frozen import FrozenModel
from dialin.model.study import StudySpec
from dialin.model.verdict import Estimate
from dialin.sentences.changes import is_too_noisy, too_noisy
from dialin.sentences.names import name_in_sentence
from dialin.sentences.note import TypedNote
from dialin.text import change, counted, exact_percent, listed, visible


class HostEffect(FrozenModel):
    """The effect of a candidate on some hosts, which are of one `kind`; an empty kind where hosts are compared one by one."""

    kind: dict[str, Any]
    hosts: tuple[str, ...]
    ratio: Estimate

    def text(self, worthwhile: float, confidence: float) -> str:
        return f"{self._change(worthwhile, confidence)} on {self._group()}"

    def _change(self, worthwhile: float, confidence: float) -> str:
        ratio = self.ratio
        if is_too_noisy(ratio):
            return too_noisy()
        if ratio.low is None or ratio.high is None:
            interval, is_shown = "", True
        else:
            interval = f" ({exact_percent(confidence)} CI {change(ratio.low)} to {change(ratio.high)})"
            is_shown = ratio.excludes_one
        if not is_shown:
            return f"no difference shown, {change(ratio.mean)}{interval}"
        small = "no worthwhile difference, " if abs(ratio.mean - 1) <= worthwhile else ""
        return f"{small}{change(ratio.mean)}{interval}"

    def _group(self) -> str:
        if not self.kind:
            return listed([visible(host) for host in self.hosts])
        return f"{describe_kind(self.kind)} ({counted(len(self.hosts), 'host')})"


def describe_kind(kind: Mapping[str, Any]) -> str:
    """Return what a kind of host is: CPU model, how many, memory and disk, as far as they are known."""
    parts = [str(kind["cpu"])] if "cpu" in kind else []
    parts += [counted(kind["cpus"], "CPU")] if "cpus" in kind else []
    parts += [f"{kind['memory_gb']} GiB"] if "memory_gb" in kind else []
    parts += [str(kind["disk"])] if "disk" in kind else []
    return visible(", ".join(parts))


class HostsDiffer(TypedNote):
    """Hosts, or kinds of host, on which a candidate compares differently; `p` is that of their interaction."""

    code = "hosts_differ"
    candidate: str
    p: float
    worthwhile: float
    confidence: float
    effects: tuple[HostEffect, ...]

    @property
    def by_host(self) -> str:
        """The effect on each host, or on each kind of host."""
        return "; ".join(effect.text(self.worthwhile, self.confidence) for effect in self.effects)

    def sentence(self, spec: StudySpec) -> str:
        return f"The effect of {name_in_sentence(spec, self.candidate)} depends on the host: {self.by_host}"


class HostsDisagree(HostsDiffer):
    """No statement on the candidate is true of all hosts."""

    code = "hosts_disagree"

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Hosts disagree on {name_in_sentence(spec, self.candidate)}, so that nothing is claimed for all of them: "
            f"{self.by_host}. Choose for each kind of host, or study each by itself"
        )


class NotOnEachKind(HostsDiffer):
    """The gain of a candidate is not shown on each kind of host."""

    code = "not_on_each_kind"

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{name_in_sentence(spec, self.candidate)} is better on all hosts together, but not shown to be on every kind of "
            f"host, so that nothing is claimed for all of them: {self.by_host}. More minutes can show it"
        )
