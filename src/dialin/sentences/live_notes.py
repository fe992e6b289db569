"""Notes on live traffic."""

from __future__ import annotations

from dialin.cause_sentences import guard_reason
from dialin.measures.table import measure_of_study
from dialin.model.cause import Cause
from dialin.model.study import StudySpec
from dialin.model.verdict import Estimate
from dialin.sentences.names import name_in_sentence
from dialin.sentences.note import TypedNote
from dialin.text import change, counted, percent


class GuardTripped(TypedNote):
    """Periods of a candidate in which the guard restored the baseline.

    Attributes:
        given_up: it gets no further period.
        restored_in: the longest time that took, seconds; None where the baseline could not be restored.
        cause: why, in the last of them.
    """

    code = "guard_tripped"
    candidate: str
    trips: int
    periods: int
    given_up: bool
    restored_in: float | None
    cause: Cause

    @property
    def trips_text(self) -> str:
        """In how many of its periods the candidate tripped the guard, as a clause about it."""
        return f"the guard restored the baseline in {self.trips} of {counted(self.periods, 'period')}"

    def sentence(self, spec: StudySpec) -> str:
        end = ". It got no further period and is never recommended" if self.given_up else ""
        longest = self.restored_in
        back = "the baseline could NOT be restored" if longest is None else f"restored within {longest:.2f} s"
        name = name_in_sentence(spec, self.candidate)
        return f"{name}: {self.trips_text}, last because {guard_reason(self.cause.figures)}; {back}{end}"


class LoadDisagrees(TypedNote):
    """Clients sent another load with a candidate, and its effect differs with that counted in; ratios to the baseline's."""

    code = "load_disagrees"
    candidate: str
    load: Estimate
    with_load: Estimate
    without_load: Estimate

    def sentence(self, spec: StudySpec) -> str:
        noun = measure_of_study(spec).noun
        return (
            f"Nothing is claimed of {name_in_sentence(spec, self.candidate)}: clients sent {_ratio(self.load)} statements "
            f"with it, and {noun} differs by {_ratio(self.with_load)} with that counted in, by {_ratio(self.without_load)} "
            "without. Clients that wait for answers send more to a faster server"
        )


class CarriesOver(TypedNote):
    """The effect of a candidate settles slowly.

    Attributes:
        settling: the second half of periods as a ratio to the first.
        after_other: the goal's measure after one of its periods as a ratio to that after the baseline.
        lasts: most of it may be still to come when a period ends.
        washout_needed: seconds.
    """

    code = "carries_over"
    candidate: str
    lasts: bool
    washout_needed: float | None = None
    settling: float | None = None
    after_other: float | None = None

    def sentence(self, spec: StudySpec) -> str:
        name, of_goal = name_in_sentence(spec, self.candidate), measure_of_study(spec).noun
        parts = []
        if self.settling is not None:
            parts.append(f"the second half of periods differs from the first by {change(self.settling)}")
        if self.after_other is not None:
            parts.append(
                f"{of_goal} after one of its periods differs by {change(self.after_other)} from that after the baseline"
            )
        end = ". Most of it may be still to come when a period ends, so nothing is claimed" if self.lasts else ""
        remedy = "a longer --warmup" if self.washout_needed is None else f"--warmup {self.washout_needed:g}"
        return f"The effect of {name} is slow to settle: {'; '.join(parts)}{end}. Start a new study with {remedy}"


class SecondHalves(TypedNote):
    """Second halves of periods alone were compared."""

    code = "second_halves"

    def sentence(self, spec: StudySpec) -> str:
        return (
            "An effect may take longer to settle than the washout, so second halves of periods alone were compared, and "
            "intervals reach as far as it may still go. A longer --warmup gives narrower ones"
        )


class LongerWashout(TypedNote):
    """The washout was lengthened, to seconds; periods with a shorter one are not compared."""

    code = "longer_washout"
    washout: float
    shorter: int

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"An effect was slow to settle, so the washout was lengthened to {self.washout:g} s, and the first "
            f"{counted(self.shorter, 'period')}, with a shorter one, not compared"
        )


class FewQuads(TypedNote):
    """There are fewer pairs of blocks than a claim needs."""

    code = "few_quads"
    quads: int
    needed: int

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"{counted(self.quads, 'pair')} of blocks compared so far; nothing is claimed with fewer than {self.needed}, "
            "because a change of the load could look like an effect"
        )


class CostsLatency(TypedNote):
    """A candidate raises latency, which was not the goal."""

    code = "costs_latency"
    candidate: str
    ratio: Estimate

    def sentence(self, spec: StudySpec) -> str:
        return f"{name_in_sentence(spec, self.candidate)} raises the mean latency of statements by {_ratio(self.ratio)}"


class Saturated(TypedNote):
    """The share of periods in which the server was saturated, the share of CPU that it used, and the threads that ran."""

    code = "saturated"
    periods: float
    cpu: float | None
    running: float | None

    @property
    def _level(self) -> str:
        cpu = [] if self.cpu is None else [f"{percent(self.cpu)} of its machine's CPU"]
        running = [] if self.running is None else [f"{self.running:.1f} threads running"]
        return ", ".join([*cpu, *running])

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"The server was saturated in {percent(self.periods)} of the periods ({self._level}), so that clients had to wait "
            "for it: --goal throughput compares what it completes"
        )


class NotSaturated(Saturated):
    """The same, where throughput is the goal and clients decided it."""

    code = "not_saturated"

    def sentence(self, spec: StudySpec) -> str:
        return (
            f"Nothing is claimed of throughput: the server was saturated in {percent(self.periods)} of the periods only "
            f"({self._level}); in the others its clients decided what it completed. Compare latency: leave out --goal"
        )


def _ratio(ratio: Estimate) -> str:
    ends = f" ({change(ratio.low)} to {change(ratio.high)})" if ratio.low is not None and ratio.high is not None else ""
    return f"{change(ratio.mean)}{ends}"
