"""Why a candidate is recommended: a reason with its figures, and the sentence that is made of them."""

from __future__ import annotations

import math
from collections.abc import Mapping

from pydantic import ValidationError

from dialin.model.durability import DurabilityLoss
from dialin.model.frozen import FrozenModel
from dialin.model.study import StudySpec
from dialin.model.verdict import CandidateState, Outcome, ReasonCode, Verdict
from dialin.sentences.headline import gain, named_leader, subject
from dialin.sentences.names import DIRECTORY, baseline_in_sentence, name_in_sentence, names_in_sentence
from dialin.text import command_line, exact_percent, how_to_resume
from dialin.variables.durability import losses_text

_TEXTS = {
    ReasonCode.IDENTICAL_CANDIDATES: "Nothing is recommended: the candidates are identical.",
    ReasonCode.ANY_BUT_FAILED_BASELINE: "The baseline could not be measured; any of the others will do.",
    ReasonCode.NOTHING_TO_GAIN: "There is nothing to gain: keep {baseline}.",
    ReasonCode.BASELINE_AMONG_BEST: "The baseline is among the best: keep {baseline}.",
    ReasonCode.BASELINE_IS_BEST: "No other candidate was shown to be better: keep {baseline}.",
    ReasonCode.OTHERS_WORSE: "Every other candidate was shown to be worse.",
    ReasonCode.NEAR_THE_BEST: "That it is the best is not proven: more minutes can show it.",
    ReasonCode.AMONG_BEST: "{name} against {baseline}: {figures}.",
    ReasonCode.BEST_BUT_FAILED_BASELINE: "The baseline could not be measured; {name} is the best of the other candidates.",
    ReasonCode.DRIVER_DELAYED: "Nothing is claimed while the load driver's own delay could explain it: keep {baseline}, and "
    "give the load driver separate CPUs (--load-cpus).",
    ReasonCode.BASELINE_FAILED: "The baseline could not be measured, so nothing is recommended: fix that, then start a new "
    "study.",
    ReasonCode.OTHERS_UNSAFE: "Every other candidate is unsafe: keep {baseline}.",
    ReasonCode.HOSTS_DISAGREE: "No candidate is better on all hosts: keep {baseline}, or choose for each kind of host.",
    ReasonCode.NOT_ON_EACH_KIND: "No candidate was shown to be better on every kind of host: keep {baseline}, or give the "
    "study more minutes.",
    ReasonCode.NOTHING_SHOWN: "No candidate was shown to be better: keep {baseline}, or give the study more minutes.",
    ReasonCode.CHOICE_UNSAFE: "The server of the best setting failed more often than the baseline's: keep {baseline}.",
    ReasonCode.CHOICE_NOT_PROVEN: "The best setting is none of those that were proven: keep {baseline}.",
}
"""The reasons without figures; `{name}` is the recommended candidate, `{figures}` what it gains over the baseline."""


class Reason(FrozenModel):
    """Why a candidate is recommended; a reason that has figures which the verdict does not hold elsewhere is a subclass."""

    code: ReasonCode

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        """Return the reason; `directory` is that of the study in commands."""
        chosen = verdict.chosen
        return _TEXTS[self.code].format(
            baseline=baseline_in_sentence(spec),
            name=name_in_sentence(spec, chosen.name),
            figures=gain(spec, verdict, chosen),
        )


class WeakensDurability(Reason):
    """The best candidate is refused, because of what it can lose in a crash; so are others that would gain."""

    code: ReasonCode = ReasonCode.WEAKER_DURABILITY
    candidate: str
    losses: tuple[DurabilityLoss, ...]

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        gains = [one for one in verdict.candidates if one.name in verdict.winners or one.state is CandidateState.BETTER]
        losses = {self.candidate: self.losses} | {one.name: one.weaker_durability for one in gains if one.weaker_durability}
        refused = " ".join(_price(spec, verdict, name, losses_text(each)) for name, each in losses.items())
        each_is = "It is" if len(losses) == 1 else "Each is"
        command = command_line("dialin report", directory, "--accept-weaker-durability")
        accept = f"{each_is} recommended only if you accept that: {command}."
        chosen = verdict.chosen
        if chosen.name == verdict.baseline:
            return f"{refused} {accept}"
        figures = gain(spec, verdict, chosen)
        return f"{refused} {accept} {name_in_sentence(spec, chosen.name)} is as durable as the baseline: {figures}."


def _price(spec: StudySpec, verdict: Verdict, name: str, losses: str) -> str:
    """Return what a candidate can lose, and what it gains where the headline does not have that."""
    headline_of = subject(verdict) if verdict.verdict is not Outcome.TIE else None
    is_in_headline = headline_of is not None and headline_of.name == name
    figures = "" if is_in_headline else gain(spec, verdict, verdict.candidate(name))
    shown = name_in_sentence(spec, name)
    return f"{shown}: {figures}, but {losses}." if figures else f"With {shown}, {losses}."


class FewestChanges(Reason):
    """The setting of a tune that changes least, of those within so much of the best."""

    code: ReasonCode = ReasonCode.FEWEST_CHANGES
    worthwhile: float

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        near = exact_percent(self.worthwhile)
        return f"Of the settings in confirmation trials, it changes the fewest variables of those within {near} of the best."


class GainExcluded(Reason):
    """No setting that was proven gains so much."""

    code: ReasonCode = ReasonCode.GAIN_EXCLUDED
    worthwhile: float

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        return (
            f"Confirmation trials exclude a gain of {exact_percent(self.worthwhile)} for every setting that was proven: keep "
            f"{baseline_in_sentence(spec)}. Other variables, or another load, may have more to gain."
        )


class GainNotShown(Reason):
    """The proof of a tune decides nothing; about so many minutes in all may; None where that is unknown."""

    code: ReasonCode = ReasonCode.GAIN_NOT_SHOWN
    minutes: int | None = None

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        text = f"Confirmation trials show neither a gain nor that there is none: keep {baseline_in_sentence(spec)}"
        if self.minutes is None:
            return f"{text}, or give the tune more minutes."
        command = how_to_resume(directory, self.minutes)
        return f"{text}. About {self.minutes} minutes in total may show which: {command}."


class ComesLate(Reason):
    """The effect of a candidate comes so many seconds after it was set."""

    code: ReasonCode = ReasonCode.LATE_EFFECT
    since: float

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        how = f"warm up for longer (--warmup {math.ceil(self.since)})"
        return (
            f"Nothing is claimed while the effect comes later than a trial ends: keep {baseline_in_sentence(spec)}, and {how}."
        )


class Confounded(Reason):
    """Another variable differs and could explain the result."""

    code: ReasonCode = ReasonCode.CONFOUNDED
    variable: str
    can_be_held: bool = False

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        if verdict.tune is not None:
            return f"No gain is claimed while {self.variable} differs too and could explain it: pin it with --set."
        how = "start a new study with --hold" if self.can_be_held else "pin that variable"
        return f"No winner is claimed while another variable differs: keep {baseline_in_sentence(spec)}, and {how}."


class OthersFailed(Reason):
    """Candidates that could not be measured."""

    code: ReasonCode = ReasonCode.OTHERS_FAILED
    candidates: tuple[str, ...]

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        failed = names_in_sentence(spec, self.candidates)
        return f"{failed} could not be measured (see the caveats): keep {baseline_in_sentence(spec)}, or fix that."


class ShownBetter(Reason):
    """Candidates that were shown to be better than the baseline, while which one is the best is inconclusive."""

    code: ReasonCode = ReasonCode.SHOWN_BETTER
    candidates: tuple[str, ...]

    def sentence(self, spec: StudySpec, verdict: Verdict, directory: str) -> str:
        several = len(self.candidates) > 1
        others = " Several are better, and which one is the best is inconclusive." if several else ""
        leader, chosen, baseline = named_leader(verdict), verdict.chosen, baseline_in_sentence(spec)
        if leader is not None and leader.name == chosen.name:  # the headline has its name and figures
            return f"It was shown to be better than {baseline}.{others}"
        name = name_in_sentence(spec, chosen.name)
        return f"{name} was shown to be better than {baseline}: {gain(spec, verdict, chosen)}.{others}"


_KINDS: Mapping[ReasonCode, type[Reason]] = {
    **dict.fromkeys(_TEXTS, Reason),
    ReasonCode.WEAKER_DURABILITY: WeakensDurability,
    ReasonCode.FEWEST_CHANGES: FewestChanges,
    ReasonCode.GAIN_EXCLUDED: GainExcluded,
    ReasonCode.GAIN_NOT_SHOWN: GainNotShown,
    ReasonCode.LATE_EFFECT: ComesLate,
    ReasonCode.CONFOUNDED: Confounded,
    ReasonCode.OTHERS_FAILED: OthersFailed,
    ReasonCode.SHOWN_BETTER: ShownBetter,
}


def reason(spec: StudySpec, verdict: Verdict, directory: str = DIRECTORY) -> str:
    """Return the reason for the recommendation; the stored text where figures that its code needs are missing.

    `directory` is that of the study in commands.
    """
    try:
        typed = _KINDS[verdict.reason_code].model_validate({**verdict.reason_data, "code": verdict.reason_code})
        text = typed.sentence(spec, verdict, directory)
    except (LookupError, ValidationError):  # written by another version of dialin
        return verdict.reason
    chosen = verdict.chosen
    if chosen.weaker_durability and spec.accept_weaker_durability and chosen.name != verdict.baseline:
        text += f" It weakens durability, which you accepted: {losses_text(chosen.weaker_durability)}."
    return text
