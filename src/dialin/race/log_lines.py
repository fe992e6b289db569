"""What the log of a study says of the events of its hosts, as codes and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from dialin.fleet.fleet import FleetEvent, HostJoined, HostLost, HostRefused
from dialin.model.cause import PASSING
from dialin.model.record import LogCode
from dialin.model.trial import Trial, TrialState


def of_host(event: FleetEvent) -> Iterator[tuple[LogCode, dict[str, Any]]]:
    """Yield the line about a host that joined or left."""
    if isinstance(event, HostJoined):
        yield LogCode.HOST_JOINED, {"host": event.host.name}
    elif isinstance(event, HostLost | HostRefused):
        code = LogCode.HOST_LOST if isinstance(event, HostLost) else LogCode.HOST_LEFT_OUT
        yield code, {"host": event.host, "cause": event.cause.as_stored()}


def of_trial(ended: Trial) -> Iterator[tuple[LogCode, dict[str, Any]]]:
    """Yield each line about a trial that has ended, as a code and its figures; none where it went as planned."""
    which = {"trial": ended.id, "candidate": ended.candidate}
    if ended.failure and ended.state is TrialState.INTERRUPTED:
        code = LogCode.TRIAL_DISTURBED if ended.failure.fault in PASSING else LogCode.SERVER_WENT_AWAY
        yield code, {**which, "cause": ended.failure.cause.as_stored()}
    elif ended.failure:
        yield LogCode.TRIAL_FAILED, {**which, "step": ended.failure.step, "cause": ended.failure.cause.as_stored()}
    elif ended.state is TrialState.INTERRUPTED and not ended.is_disturbed:
        yield LogCode.TRIAL_REPEATED, which
    for code, under_test in ((LogCode.TRIAL_DISCARDED, True), (LogCode.OTHERS_CHANGED, False)):
        if changes := [asdict(change) for change in ended.changes if change.under_test is under_test]:
            yield code, {**which, "changes": changes}
