"""The sentences of notes on the load: its rate, its driver, and what else ran on the machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.model.study import StudySpec
from dialin.report.names import name_in_sentence, names_in_sentence
from dialin.report.replay_sentences import AMOUNTS, CAUSES, RATIOS, SHARES, WORK
from dialin.text import change, counted, duration, listed, number, percent

Figures = Mapping[str, Any]
"""The data of a note."""


def _among(data: Figures) -> str:
    return f"{len(data['trials'])} of {counted(data['of'], 'trial')} ({', '.join(data['candidates'])})"


def _rate_not_reached(spec: StudySpec, data: Figures) -> str:
    where = f" with {counted(data['threads'], 'thread')}" if spec.workload.levels else ""
    text = (
        f"The rate of {data['asked']} transactions/s was not reached in {_among(data)}: the lowest was "
        f"{data['achieved']:.0f}{where}"
    )
    if data["dropped"]:  # some never began, and have no latency
        return text
    return f"{text}. Transactions that could not begin in time waited; their latency includes the wait"


def _rate_reached(spec: StudySpec, data: Figures) -> str:
    names = data["candidates"]
    who = "All candidates" if len(names) == len(spec.candidates) else names_in_sentence(spec, names)
    return (
        f"{who} kept up with the rate of {data['asked']} transactions/s, so their throughput could not differ. Their latency "
        "may: start a new study with --goal latency"
    )


def _dropped(_spec: StudySpec, data: Figures) -> str:
    total = data["dropped"]
    return (
        f"{counted(total, 'transaction')} {'was' if total == 1 else 'were'} due and never began, in {_among(data)}, warm-up "
        "included: more were waiting than the load driver can queue. Latency does not include them, so it looks better than it "
        "was; use a lower --rate"
    )


def _driver_added(_spec: StudySpec, data: Figures) -> str:
    return (
        f"The load driver itself added up to {number(data['added_ms'])} ms to p99 of latency in {_among(data)}, up to "
        f"{percent(data['share'])} of it: it was late, and not the server. Give it separate CPUs (--load-cpus)"
    )


def _separate_queues(_spec: StudySpec, data: Figures) -> str:
    return (
        f"Each of the {data['hosts']} load hosts has its own queue. In {_among(data)} transactions waited for a connection of "
        f"their host, up to {number(data['queued_ms'])} ms on average, {percent(data['share'])} of latency. From one host "
        "latency would be lower by at most that. Use more --threads or fewer --load-hosts"
    )


def _driver_delay(_spec: StudySpec, data: Figures) -> str:
    return (
        f"The load driver itself added up to {percent(data['share'])} of the latency of a trial, and without that the "
        "candidates compare differently"
    )


def _late_effect(spec: StudySpec, data: Figures) -> str:
    name, since = name_in_sentence(spec, data["candidate"]), duration(data["since"])
    return (
        f"{name}: {change(data['ratio'])} in the trials, but {change(data['late_ratio'])} in a window of "
        f"{duration(data['seconds'])}, after its first {since}: an effect comes late"
    )


def _busy_load_thread(_spec: StudySpec, data: Figures) -> str:
    return (
        f"The load driver was the limit in {_among(data)}: its busiest load thread used up to {percent(data['share'])} of a "
        "CPU. Give it separate CPUs (--load-cpus), or use a heavier workload"
    )


def _unfinished(_spec: StudySpec, data: Figures) -> str:
    return (
        f"{counted(data['unfinished'], 'transaction')} had not finished at the end of {_among(data)}; the oldest was due "
        f"{data['oldest_ms'] / 1000:.1f} s before, longer than any finished one took. Latency does not include them"
    )


def _slow_failures(_spec: StudySpec, data: Figures) -> str:
    return (
        f"The slowest failed transaction took {data['slowest_ms'] / 1000:.1f} s, longer than any that succeeded, in "
        f"{_among(data)}. Latency includes successful transactions only"
    )


def _unprepared(_spec: StudySpec, data: Figures) -> str:
    return (
        f"Up to {counted(data['statements'], 'statement')} per trial could not be prepared, in {_among(data)}, and were sent "
        "as text: max_prepared_stmt_count of the server is too low for this load. Raise it"
    )


def _other_load(_spec: StudySpec, data: Figures) -> str:
    return (
        f"Other programs used {percent(data['share'])} of the machine while it was measured (up to {percent(data['worst'])} in "
        "a trial): this adds noise. Measure on a machine with no other load"
    )


def _client_limit(spec: StudySpec, data: Figures) -> str:
    driver, cpus = data["driver_cpus_used"], data["cpus"]
    if spec.load_cpus:
        return (
            f"The load driver was the limit: it used {driver:.2f} of its {data['driver_cpus']:.0f} CPUs. Give it more "
            "--load-cpus"
        )
    used = data["server_cpus_used"]
    other = "the server runs on another machine" if used is None else f"the server {percent(used / cpus)}"
    return (
        f"The load driver was the limit: it used {percent(driver / cpus)} of a full machine, {other}. Give it separate CPUs "
        "(--load-cpus), or use a heavier workload"
    )


def _client_shares_machine(_spec: StudySpec, data: Figures) -> str:
    driver, server = (percent(data[name] / data["cpus"]) for name in ("driver_cpus_used", "server_cpus_used"))
    return (
        f"Client and server shared a full machine: the load driver used {driver} of it, the server {server}. Differences are "
        "smaller than on a server that has the machine to itself"
    )


def _driver_changed(_spec: StudySpec, data: Figures) -> str:
    first, *later = data["drivers"]
    return (
        f"{first} applied the load at first, and {listed(later)} after the study was resumed: candidates are compared only "
        "within trials of one driver; the figures of a candidate mix both"
    )


def _not_cold(_spec: StudySpec, data: Figures) -> str:
    return (
        f"Runs of {counted(len(data['trials']), 'trial')} were meant to be cold, but up to {percent(data['share'])} of the "
        "table was in the file cache: another program on this machine reads its files"
    )


def _not_the_capture(name: str) -> Callable[[StudySpec, Figures], str]:
    cause = f": {CAUSES[name]}" if name in CAUSES else ""
    differs = "The replay was not the captured load" if name in WORK else "The replay did not take its time as the capture did"

    def sentence(_spec: StudySpec, data: Figures) -> str:
        return f"{differs}, in {counted(len(data['trials']), 'trial')} ({SHARES[name]}: up to {percent(data['share'])}){cause}"

    return sentence


def _other_work(name: str) -> Callable[[StudySpec, Figures], str]:
    def sentence(_spec: StudySpec, data: Figures) -> str:
        return (
            f"The server did not do the captured work: {RATIOS[name]} were {number(data['ratio'])} times the capture's with "
            f"the candidate nearest to it: {CAUSES[name]}"
        )

    return sentence


def _unequal_work(name: str) -> Callable[[StudySpec, Figures], str]:
    def sentence(_spec: StudySpec, data: Figures) -> str:
        return f"The replays of the trials are not the same load: {AMOUNTS[name]} differ by up to {percent(data['share'])}"

    return sentence


SENTENCES: Mapping[str, Callable[[StudySpec, Figures], str]] = {
    "rate_not_reached": _rate_not_reached,
    "rate_reached": _rate_reached,
    "transactions_dropped": _dropped,
    "driver_added": _driver_added,
    "driver_delay": _driver_delay,
    "late_effect": _late_effect,
    "separate_queues": _separate_queues,
    "busy_load_thread": _busy_load_thread,
    "unfinished_transactions": _unfinished,
    "slow_failures": _slow_failures,
    "statements_unprepared": _unprepared,
    "other_load": _other_load,
    "client_limit": _client_limit,
    "client_shares_machine": _client_shares_machine,
    "driver_changed": _driver_changed,
    "not_cold": _not_cold,
    **{name: _not_the_capture(name) for name in SHARES},
    **{name: _other_work(name) for name in RATIOS},
    **{name: _unequal_work(name) for name in AMOUNTS},
}
"""By the code of the note."""
