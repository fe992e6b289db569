"""The sentences on a verdict's reasons and their evidence that every rendering of the report shares."""

from __future__ import annotations

import re
from collections.abc import Sequence

from dialin.measures.table import measure_of_study
from dialin.model.record import StudyRecord
from dialin.model.why import Reason, ReasonKind, Why
from dialin.text import counted, percent, visible

_ADDRESS = re.compile(r"(?:dev\.mysql\.com|mariadb\.com|man7\.org|docs\.kernel\.org)/[\w./-]*\w")
"""The addresses that become links: those that the rules name, and no other."""

SHOWN = 3
"""How many reasons are shown at once; the others are folded away, or shown by `dialin explain`."""

REASON_KINDS = {
    ReasonKind.MOVED: "changed with the verdict",
    ReasonKind.RAW: "raw waits, one trial each",
    ReasonKind.UNUSED: "unused capacity",
    ReasonKind.LIMIT: "limit hit",
}
"""The label of each kind of reason."""

UNKNOWN = (
    "No reasons are available: no probe ran while load was measured. Probes were off (--no-probes), or no trial completed yet."
)
"""The text where no probe ran."""

LIVE = (
    "A study of live traffic runs no probes, which would be load of its own. What a statement cost the server in CPU, I/O, "
    "pages and rows stands beside its latency, under Live, own traffic."
)
"""The text for a study of live traffic."""


def strongest(why: Why, record: StudyRecord) -> str:
    """Return the strongest reason for a difference, or that there is none."""
    # That something was never used explains no difference.
    texts = (visible(reason.text) for reason in why.reasons if reason.kind is not ReasonKind.UNUSED)
    return next(texts, summary(why, record))


def is_known(why: Why | None) -> bool:
    """Return whether there is any evidence that could explain the verdict."""
    return why is not None and any(
        (why.reasons, why.costs, why.scaling, why.statements, why.waits, why.wait_trials, why.probes)
    )


def summary(why: Why | None, record: StudyRecord) -> str:
    """Return the summary of the evidence in one sentence, or why there is none."""
    if why is not None and is_known(why):
        return visible(why.summary)
    return UNKNOWN if not record.spec.is_live else LIVE


def remark(reason: Reason, record: StudyRecord) -> str:
    """Return the correlation of a reason with the goal; empty where it has none."""
    if reason.correlation is None:
        return ""
    noun = measure_of_study(record.spec).noun
    return f"Correlation with {noun} over the trials: r = {reason.correlation:+.2f}.".replace("-", "−")


def source(reason: Reason) -> tuple[str, str]:
    """Return the source of a reason's rule, and its URL; the URL is empty where the source names none."""
    text = visible(reason.source).rstrip(".")
    address = _ADDRESS.search(text)
    if address is None:
        return text, ""
    return f"{text[: address.start()].rstrip(', ')}{text[address.end() :]}", f"https://{address[0]}"


def kinds_of(reasons: Sequence[Reason]) -> str:
    """Return how many reasons there are of each kind: `2 changed with the verdict, 1 limit hit`."""
    counts = {kind: sum(reason.kind is kind for reason in reasons) for kind in ReasonKind}
    return ", ".join(f"{count} {REASON_KINDS[kind]}" for kind, count in counts.items() if count)


def watching(why: Why) -> str:
    """Return what the probes cost: the share of time in which each queried the server, and the CPU that dialin itself used."""
    if not why.probes:
        return "No probe ran."
    costly = sorted(why.probes, key=lambda probe: probe.waited_ms_per_s, reverse=True)
    each = ", ".join(f"{visible(probe.probe)} {_share(probe.waited_ms_per_s)}" for probe in costly)
    waited, used_cpu = sum(probe.waited_ms_per_s for probe in costly), sum(probe.cpu_ms_per_s for probe in costly)
    used = f"dialin itself used {_share(used_cpu)} of a CPU"
    return f"Probes took at most {_share(waited)} of the server's time: {each}. {used}."


def unread(why: Why) -> list[str]:
    """Return what probes could not read, one sentence each; what several probes could not read is reported once."""
    probes_by_note: dict[str, list[str]] = {}
    for probe in why.probes:
        for note in probe.notes:
            probes_by_note.setdefault(visible(note), []).append(visible(probe.probe))
    return [f"{', '.join(names)}: {note}" for note, names in probes_by_note.items()]


def more(count: int, noun: str) -> str:
    """Return the line for items that are left out: `2 more reasons`."""
    return f"{count:,} more {counted(count, noun).split(' ', 1)[1]}"


def _share(milliseconds_per_second: float) -> str:
    share = milliseconds_per_second / 1000
    return "<0.1 %" if 0 < share < 0.0005 else percent(share)
