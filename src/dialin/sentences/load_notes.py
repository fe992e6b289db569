"""Notes on the load: its rate, its driver, and what else ran on the machine."""

from __future__ import annotations

from pydantic import Field

from dialin.model.study import StudySpec
from dialin.model.verdict import Note
from dialin.sentences.names import name_in_sentence, names_in_sentence
from dialin.sentences.note import Confounding, TypedNote
from dialin.sentences.replay_sentences import AMOUNTS, CAUSES, RATIOS, SHARES, WORK
from dialin.text import change, counted, duration, listed, number, percent


class OfTrials(TypedNote):
    """A note on trials, `of` so many, of some candidates."""

    candidates: tuple[str, ...]
    trials: tuple[int, ...]
    of: int

    @property
    def among(self) -> str:
        return f"{len(self.trials)} of {counted(self.of, 'trial')} ({', '.join(self.candidates)})"


class RateNotReached(OfTrials):
    """The lowest rate achieved instead of the one asked for, per second, and at how many threads."""

    code = "rate_not_reached"
    asked: int
    achieved: float
    threads: int
    dropped: bool

    def sentence(self, spec: StudySpec) -> str:
        where = f" with {counted(self.threads, 'thread')}" if spec.workload.levels else ""
        text = (
            f"The rate of {self.asked} transactions/s was not reached in {self.among}: the lowest was "
            f"{self.achieved:.0f}{where}"
        )
        if self.dropped:  # some never began, and have no latency
            return text
        return f"{text}. Transactions that could not begin in time waited; their latency includes the wait"


class RateReached(TypedNote):
    """Candidates that kept up with the rate, where throughput is the goal."""

    code = "rate_reached"
    asked: int
    candidates: tuple[str, ...]

    def sentence(self, spec: StudySpec) -> str:
        names = self.candidates
        who = "All candidates" if len(names) == len(spec.candidates) else names_in_sentence(spec, names)
        return (
            f"{who} kept up with the rate of {self.asked} transactions/s, so their throughput could not differ. Their latency "
            "may: start a new study with --goal latency"
        )


class TransactionsDropped(OfTrials):
    """Transactions that were due and never began."""

    code = "transactions_dropped"
    dropped: int

    def sentence(self, spec: StudySpec) -> str:
        total = self.dropped
        return (
            f"{counted(total, 'transaction')} {'was' if total == 1 else 'were'} due and never began, in {self.among}, warm-up "
            "included: more were waiting than the load driver can queue. Latency does not include them, so it looks better "
            "than it was; use a lower --rate"
        )


class DriverAdded(OfTrials):
    """What the load driver added to p99, at most: milliseconds, and a share of it."""

    code = "driver_added"
    added_ms: float
    share: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"The load driver itself added up to {number(self.added_ms)} ms to p99 of latency in {self.among}, up to "
            f"{percent(self.share)} of it: it was late, and not the server. Give it separate CPUs (--load-cpus)"
        )


class SeparateQueues(OfTrials):
    """Transactions waited for a connection of their load host: milliseconds on average, and a share of latency."""

    code = "separate_queues"
    hosts: int
    queued_ms: float
    share: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Each of the {self.hosts} load hosts has its own queue. In {self.among} transactions waited for a connection of "
            f"their host, up to {number(self.queued_ms)} ms on average, {percent(self.share)} of latency. From one host "
            "latency would be lower by at most that. Use more --threads or fewer --load-hosts"
        )


class DriverDelay(Confounding):
    """Without what the driver added to latency, at most this share, candidates compare differently."""

    code = "driver_delay"
    share: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"The load driver itself added up to {percent(self.share)} of the latency of a trial, and without that the "
            "candidates compare differently"
        )


class LateEffect(Confounding):
    """A gain that a long window (seconds) does not show after its first part (seconds); ratios to the baseline's throughput."""

    code = "late_effect"
    candidate: str
    ratio: float
    late_ratio: float
    seconds: float
    since: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{name_in_sentence(spec, self.candidate)}: {change(self.ratio)} in the trials, but {change(self.late_ratio)} in a "
            f"window of {duration(self.seconds)}, after its first {duration(self.since)}: an effect comes late"
        )


class BusyLoadThread(OfTrials):
    """The share of a CPU that the busiest load thread used."""

    code = "busy_load_thread"
    share: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"The load driver was the limit in {self.among}: its busiest load thread used up to {percent(self.share)} of a "
            "CPU. Give it separate CPUs (--load-cpus), or use a heavier workload"
        )


class UnfinishedTransactions(OfTrials):
    """Transactions that were open when trials ended, and how long before the oldest was due."""

    code = "unfinished_transactions"
    unfinished: int
    oldest_ms: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{counted(self.unfinished, 'transaction')} had not finished at the end of {self.among}; the oldest was due "
            f"{self.oldest_ms / 1000:.1f} s before, longer than any finished one took. Latency does not include them"
        )


class SlowFailures(OfTrials):
    """How long the slowest failed transaction took."""

    code = "slow_failures"
    slowest_ms: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"The slowest failed transaction took {self.slowest_ms / 1000:.1f} s, longer than any that succeeded, in "
            f"{self.among}. Latency includes successful transactions only"
        )


class StatementsUnprepared(OfTrials):
    """The most statements of a trial that the server did not prepare."""

    code = "statements_unprepared"
    statements: int

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Up to {counted(self.statements, 'statement')} per trial could not be prepared, in {self.among}, and were sent "
            "as text: max_prepared_stmt_count of the server is too low for this load. Raise it"
        )


class OtherLoad(TypedNote):
    """The share of the machine that other programs used, on average and in the worst trial."""

    code = "other_load"
    share: float
    worst: float

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Other programs used {percent(self.share)} of the machine while it was measured (up to {percent(self.worst)} in "
            "a trial): this adds noise. Measure on a machine with no other load"
        )


class ClientLimit(TypedNote):
    """The load driver was the limit: CPUs that were used and exist; None for a server on another machine."""

    code = "client_limit"
    driver_cpus_used: float
    server_cpus_used: float | None
    machine_busy: float
    driver_cpus: float
    cpus: float

    def sentence(self, spec: StudySpec) -> str:
        if spec.load_cpus:
            return (
                f"The load driver was the limit: it used {self.driver_cpus_used:.2f} of its {self.driver_cpus:.0f} CPUs. Give "
                "it more --load-cpus"
            )
        used = self.server_cpus_used
        other = "the server runs on another machine" if used is None else f"the server {percent(used / self.cpus)}"
        return (
            f"The load driver was the limit: it used {percent(self.driver_cpus_used / self.cpus)} of a full machine, {other}. "
            "Give it separate CPUs (--load-cpus), or use a heavier workload"
        )


class ClientSharesMachine(ClientLimit):
    """The server was the limit on a full machine that it shares with the load driver."""

    code = "client_shares_machine"

    def sentence(self, spec: StudySpec) -> str:
        driver, server = (percent((used or 0.0) / self.cpus) for used in (self.driver_cpus_used, self.server_cpus_used))
        return (
            f"Client and server shared a full machine: the load driver used {driver} of it, the server {server}. Differences "
            "are smaller than on a server that has the machine to itself"
        )


class DriverChanged(TypedNote):
    """The load drivers of a study, in order."""

    code = "driver_changed"
    drivers: tuple[str, ...]

    def sentence(self, spec: StudySpec) -> str:
        first, *later = self.drivers
        return (
            f"{first} applied the load at first, and {listed(later)} after the study was resumed: candidates are compared only "
            "within trials of one driver; the figures of a candidate mix both"
        )


class BeyondLimit(TypedNote):
    """A figure of the load (`gauge`) that is beyond its limit: a share, a ratio that should be 1, or a relative difference."""

    trials: tuple[int, ...]
    gauge: str
    figure: float

    @property
    def where(self) -> str:
        return counted(len(self.trials), "trial")


class NotCold(BeyondLimit):
    """A share of the table was in the file cache."""

    code = "not_cold"

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Runs of {self.where} were meant to be cold, but up to {percent(self.figure)} of the table was in the file cache: "
            "another program on this machine reads its files"
        )


class OwnLimit(BeyondLimit):
    """A figure that a kind of workload names (its code), with the sentence that it has for it."""

    code = "own_limit"
    name: str = Field(exclude=True)
    text: str = Field(exclude=True)

    def stored(self) -> Note:
        return super().stored().model_copy(update={"code": self.name, "text": self.text})

    def sentence(self, spec: StudySpec) -> str:
        return self.text


class NotTheCapture(BeyondLimit):
    """A replay differs from its capture, or replays differ from each other; its code is the name of the figure."""

    code = "replay"

    def stored(self) -> Note:
        return super().stored().model_copy(update={"code": self.gauge})

    def sentence(self, spec: StudySpec) -> str:
        name, cause = self.gauge, CAUSES.get(self.gauge, "")
        if name in AMOUNTS:
            return f"The replays of the trials are not the same load: {AMOUNTS[name]} differ by up to {percent(self.figure)}"
        if name in RATIOS:
            return (
                f"The server did not do the captured work: {RATIOS[name]} were {number(self.figure)} times the capture's with "
                f"the candidate nearest to it: {cause}"
            )
        what = "was not the captured load" if name in WORK else "did not take its time as the capture did"
        text = f"The replay {what}, in {self.where} ({SHARES[name]}: up to {percent(self.figure)})"
        return f"{text}: {cause}" if cause else text
