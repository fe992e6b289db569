"""Findings on an attached server: what SQL shows of it, and what nobody sees from here."""

from __future__ import annotations

from statistics import median

from dialin.model.fitness import FAR_MS, Finding, ServerFacts, Severity, by_severity
from dialin.text import listed

HIDDEN = "CPU, memory and disk of the server's machine"
"""What is not seen of a server on another machine, or whose process is not visible."""


def server_findings(facts: ServerFacts) -> list[Finding]:
    """Return the findings, the most severe first."""
    found = [_in_use(facts), _writes(facts), _setting(facts), _round_trip(facts), _waits(facts)]
    return by_severity(found)


def unseen(facts: ServerFacts) -> list[str]:
    others = "whether others use the server (the account lacks PROCESS)"
    return [*([] if facts.is_here else [HIDDEN]), *([others] if facts.in_use is None else [])]


def _in_use(facts: ServerFacts) -> Finding | None:
    if facts.in_use is None:
        return None
    if not facts.in_use:
        return Finding.good("other clients", "none")
    return Finding(
        "other clients",
        listed(list(facts.in_use)),
        Severity.NOTICE,
        "Their load would be measured with that of dialin, which therefore puts no load on a server in use.",
        "Study it under their traffic (--attach --traffic own), replay a capture on a sandbox, or use another server.",
    )


def _writes(facts: ServerFacts) -> Finding:
    if not facts.read_only:
        return Finding.good("writes", "accepted")
    return Finding(
        "writes",
        f"{facts.read_only} is on",
        Severity.NOTICE,
        "dialin can make no schema for a load of its own there.",
        "Study it under its own traffic (--attach --traffic own), or use another server.",
    )


def _setting(facts: ServerFacts) -> Finding | None:
    if facts.may_set is None:
        return None
    if facts.may_set:
        return Finding.good("SET GLOBAL", "the account has the privilege")
    return Finding(
        "SET GLOBAL",
        "the account has neither SUPER nor SYSTEM_VARIABLES_ADMIN",
        Severity.NOTICE,
        "It cannot set the candidates.",
        "Grant it what docs/privileges.md lists; where a service forbids that, let a command apply settings (--apply-command).",
    )


def _round_trip(facts: ServerFacts) -> Finding:
    typical = 1000 * median(facts.round_trips)
    observed = f"{typical:.2f} ms for the shortest statement (median of {len(facts.round_trips)})"
    if typical < FAR_MS:
        return Finding.good("round trip", observed)
    return Finding(
        "round trip",
        observed,
        Severity.NOTICE,
        "Each statement of the load waits that long for the network, which hides what the server itself gains.",
        "Apply the load from a machine beside the server: --load-hosts (docs/fleet.md).",
    )


def _waits(facts: ServerFacts) -> Finding:
    if facts.performance_schema:
        return Finding.good("performance schema", "on")
    return Finding(
        "performance schema",
        "off",
        Severity.NOTICE,
        "A report cannot say which waits and statements explain a difference.",
        "Start the server with performance_schema=ON, if that is what production has.",
    )
