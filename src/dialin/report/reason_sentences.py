"""Why a verdict recommends what it does, in a sentence or two built from its code and figures."""

from __future__ import annotations

import math

from dialin.model.durability import from_data
from dialin.model.study import StudySpec
from dialin.model.verdict import ReasonCode, Verdict
from dialin.report.headline import gain, named_leader
from dialin.report.names import DIRECTORY, baseline_in_sentence, name_in_sentence, names_in_sentence
from dialin.text import exact_percent
from dialin.variables.durability import losses_text

_ALONE = {
    ReasonCode.IDENTICAL_CANDIDATES: "Nothing is recommended: the candidates are identical.",
    ReasonCode.ANY_BUT_FAILED_BASELINE: "The baseline could not be measured; any of the others will do.",
    ReasonCode.NOTHING_TO_GAIN: "There is nothing to gain: keep {baseline}.",
    ReasonCode.BASELINE_AMONG_BEST: "The baseline is among the best: keep {baseline}.",
    ReasonCode.BASELINE_IS_BEST: "No other candidate was shown to be better: keep {baseline}.",
    ReasonCode.OTHERS_WORSE: "Every other candidate was shown to be worse.",
    ReasonCode.NEAR_THE_BEST: "That it is the best is not proven: more minutes can show it.",
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
"""Codes that need no figure; `{baseline}` is what a sentence calls the baseline."""


def reason(spec: StudySpec, verdict: Verdict, directory: str = DIRECTORY) -> str:
    """Return the reason for the recommendation; the stored text where figures that its code needs are missing.

    `directory` is that of the study in commands.
    """
    try:
        text = _sentence(spec, verdict, verdict.reason_code, directory)
    except (LookupError, TypeError, ValueError):  # written by another version of dialin
        return verdict.reason
    chosen = verdict.chosen
    if chosen.weaker_durability and spec.accept_weaker_durability and chosen.name != verdict.baseline:
        text += f" It weakens durability, which you accepted: {losses_text(chosen.weaker_durability)}."
    return text


def _sentence(spec: StudySpec, verdict: Verdict, code: ReasonCode, directory: str) -> str:
    baseline = baseline_in_sentence(spec)
    if code in _ALONE:
        return _ALONE[code].format(baseline=baseline)
    data, chosen = verdict.reason_data, verdict.chosen
    name, figures = name_in_sentence(spec, chosen.name), gain(spec, verdict, chosen)
    match code:
        case ReasonCode.BEST_BUT_FAILED_BASELINE:
            return f"The baseline could not be measured; {name} is the best of the other candidates."
        case ReasonCode.WEAKER_DURABILITY:
            text = _refusal(spec, verdict, directory)
            return text if chosen.name == verdict.baseline else f"{text} {name} is as durable as the baseline: {figures}."
        case ReasonCode.FEWEST_CHANGES:
            near = exact_percent(data["worthwhile"])
            return (
                f"Of the settings in confirmation trials, it changes the fewest variables of those within {near} of the best."
            )
        case ReasonCode.GAIN_EXCLUDED:
            least = exact_percent(data["worthwhile"])
            return (
                f"Confirmation trials exclude a gain of {least} for every setting that was proven: keep {baseline}. Other "
                "variables, or another load, may have more to gain."
            )
        case ReasonCode.GAIN_NOT_SHOWN:
            text = f"Confirmation trials show neither a gain nor that there is none: keep {baseline}"
            if "minutes" not in data:
                return f"{text}, or give the tune more minutes."
            minutes = data["minutes"]
            return f"{text}. About {minutes} minutes in total may show which: dialin resume {directory} --minutes {minutes}."
        case ReasonCode.DRIVER_DELAYED:
            how = "give the load driver separate CPUs (--load-cpus)"
            return f"Nothing is claimed while the load driver's own delay could explain it: keep {baseline}, and {how}."
        case ReasonCode.LATE_EFFECT:
            how = f"warm up for longer (--warmup {math.ceil(data['since'])})"
            return f"Nothing is claimed while the effect comes later than a trial ends: keep {baseline}, and {how}."
        case ReasonCode.CONFOUNDED if verdict.tune is not None:
            return f"No gain is claimed while {data['variable']} differs too and could explain it: pin it with --set."
        case ReasonCode.CONFOUNDED:
            how = "start a new study with --hold" if data["can_be_held"] else "pin that variable"
            return f"No winner is claimed while another variable differs: keep {baseline}, and {how}."
        case ReasonCode.OTHERS_FAILED:
            failed = names_in_sentence(spec, data["candidates"])
            return f"{failed} could not be measured (see the caveats): keep {baseline}, or fix that."
        case ReasonCode.SHOWN_BETTER:
            others = " Several are better, and which one is the best is inconclusive." if len(data["candidates"]) > 1 else ""
            leader = named_leader(verdict)
            if leader is not None and leader.name == chosen.name:  # the headline has its name and figures
                return f"It was shown to be better than {baseline}.{others}"
            return f"{name} was shown to be better than {baseline}: {figures}.{others}"
        case _:
            return f"{name} against {baseline}: {figures}."


def _refusal(spec: StudySpec, verdict: Verdict, directory: str) -> str:
    data = verdict.reason_data
    is_better = "is better" if data["is_better"] else "may be better"
    return (
        f"{name_in_sentence(spec, data['candidate'])} {is_better} but weakens durability: "
        f"{losses_text(from_data(data['losses']))}. It is recommended only if you accept that: "
        f"dialin report {directory} --accept-weaker-durability."
    )
