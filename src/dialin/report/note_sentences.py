"""Warnings and confounds as sentences, built from their codes and figures when they are shown.

Verdicts store codes and figures, so that the notes of an old study get today's wording.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from dialin.cause_sentences import with_advice
from dialin.model.cause import Cause
from dialin.model.course import Course
from dialin.model.study import Goal, StudySpec
from dialin.model.verdict import Estimate, Note
from dialin.report import host_sentences, live_sentences, load_sentences, setting_sentences
from dialin.report.headline import change_with_confidence, detectable_difference
from dialin.report.load_units import units
from dialin.report.names import DIRECTORY, name_in_sentence
from dialin.text import change, counted, duration, listed, percent

Figures = Mapping[str, Any]
"""The data of a note."""


def _costs_throughput(spec: StudySpec, data: Figures) -> str:
    ratio = Estimate(mean=data["ratio"], low=data["low"], high=data["high"])
    costs = "costs" if ratio.high is not None and ratio.high < 1 else "may cost"
    figure = change_with_confidence(ratio, 1 - spec.alpha)
    return f"{name_in_sentence(spec, data['candidate'])} {costs} throughput: {figure} against the baseline"


def _more_stalls(spec: StudySpec, data: Figures) -> str:
    return (
        f"{name_in_sentence(spec, data['candidate'])} stalls more than the baseline: {1000 * data['share']:.1f} stalled "
        f"seconds per 1000 s against {1000 * data['baseline']:.1f}. If steadiness matters, use --goal stability"
    )


def _faster_but_stalls_more(spec: StudySpec, data: Figures) -> str:
    return (
        f"{name_in_sentence(spec, data['candidate'])} has a higher typical speed ({change(data['typical'])}) but stalls more: "
        f"stalls cost it {percent(data['cost'])} of that speed, the baseline {percent(data['baseline'])}. "
        "Throughput decides, and it includes stalls"
    )


_REMEDIES = {
    "runs": "start a new study with more runs (--workload-option runs=N)",
    "rate": "start a new study with a lower --rate",
    "measure": "start a new study with a longer --measure",
    "none": "a longer warm-up does not help; dialin explain shows what the server waited for",
    "warmup": "start a new study with a longer --warmup",
}
"""What helps where trials do not become steady, by the code of the remedy."""


def _not_steady(_spec: StudySpec, data: Figures) -> str:
    by = " in latency" if data["by_latency"] else ""
    return (
        f"{len(data['trials'])} of {counted(data['of'], 'trial')} did not become steady{by} ({', '.join(data['candidates'])}): "
        f"{listed([_course(Course(name), shape) for name, shape in data['shapes'].items()])}; {_REMEDIES[data['remedy']]}"
    )


def _course(course: Course, shape: Figures) -> str:
    count, most = shape["trials"], change(1 + shape["change"])
    match course:
        case Course.OSCILLATION:
            return f"{count} oscillated with a period of {duration(shape['period'])}, and cover less than two periods"
        case Course.SHIFT:
            return f"{count} shifted to another level ({most} at most)"
        case Course.TREND:
            return f"{count} still followed a trend ({most} at most)"
        case Course.COLLAPSE:
            return f"{count} collapsed and did not recover ({most} at most)"
        case Course.TWO_LEVELS:
            return f"{count} switched between two levels ({most} from the higher to the lower one at most)"
        case Course.DEAD:
            return f"{count} completed no transaction"
        case Course.ERRATIC:
            return f"{count} varied too much (CV up to {percent(shape['cv'])})"
        case Course.STEADY:
            return f"{count} needed most of the time to become steady"


def _noisier(_spec: StudySpec, data: Figures) -> str:
    return (
        f"Noise was {percent(data['noise'])}, expected {percent(data['expected'])} from earlier studies: something disturbs "
        "this machine, so only larger differences than planned can be detected. Run dialin doctor to look for the cause"
    )


def _host_lost_seconds(spec: StudySpec, data: Figures) -> str:
    where, lost = counted(len(data["trials"]), "trial"), f"({percent(data['share'])})"
    if units(spec.workload).by_run:
        took = counted(data["seconds"], "second")
        what = f"during runs of {where}, which took {took} {lost}: these runs are excluded"
    else:
        what = f"in {counted(data['seconds'], 'measured second')} {lost}, in {where}: they are excluded"
    return f"The host itself stalled {what}. Run dialin doctor to see what can be done about it"


def _odd_trials(spec: StudySpec, data: Figures) -> str:
    ratios = data["ratios"]
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    how = ("slower", "faster") if spec.goal is Goal.THROUGHPUT else ("worse", "better")
    by = f"{'' if len(ratios) == 1 else 'up to '}{percent(abs(worst - 1))} {how[worst > 1]}"
    return (
        f"{name_in_sentence(spec, data['candidate'])}: {len(ratios)} of {counted(data['of'], 'trial')} "
        f"{'was' if len(ratios) == 1 else 'were'} {by} than its others, which its seconds do not explain. Trials: "
        f"{listed([str(number) for number in data['trials']])}"
    )


def _unsafe(spec: StudySpec, data: Figures) -> str:
    return (
        f"{name_in_sentence(spec, data['candidate'])} is never recommended: its server failed in {data['failed']} of "
        f"{counted(data['trials'], 'trial')}; the baseline's failed in {data['baseline_failed']} of {data['baseline_trials']}"
    )


def _failed_trials(spec: StudySpec, data: Figures) -> str:
    reason = with_advice(Cause.read(data["cause"])) or "reason not available"
    return f"{name_in_sentence(spec, data['candidate'])}: {counted(data['failed'], 'trial')} failed; {reason}"


def _inconclusive(_spec: StudySpec, data: Figures) -> str:
    took = f"Nothing was decided in {duration(data['seconds'])} of at most {duration(data['budget'])}"
    if "detectable" not in data:
        return took
    text = f"{took}. With this noise, {detectable_difference(data['trials'], data['detectable'])}"
    if "trials_needed" in data:
        command = f"dialin resume {data['directory']} --minutes {data['minutes']}"
        text += f"; a choice may take about {data['trials_needed']:,} trials: {command}"
    return f"{text}. Or start a new study with a larger --worthwhile"


_SENTENCES: Mapping[str, Callable[[StudySpec, Figures], str]] = {
    "costs_throughput": _costs_throughput,
    "more_stalls": _more_stalls,
    "faster_but_stalls_more": _faster_but_stalls_more,
    "not_steady": _not_steady,
    "noisier_than_expected": _noisier,
    "host_lost_seconds": _host_lost_seconds,
    "odd_trials": _odd_trials,
    "unsafe": _unsafe,
    "failed_trials": _failed_trials,
    "inconclusive": _inconclusive,
    **host_sentences.SENTENCES,
    **live_sentences.SENTENCES,
    **setting_sentences.SENTENCES,
    **load_sentences.SENTENCES,
}
"""By the code of the note."""


def note_text(spec: StudySpec, note: Note, directory: str = DIRECTORY) -> str:
    """Return a note as a sentence without its full stop; the stored text where its code or its figures are unknown.

    `directory` is that of the study in commands.
    """
    sentence = _SENTENCES.get(note.code)
    try:
        return sentence(spec, {**note.data, "directory": directory}) if sentence else note.text
    except (AttributeError, LookupError, TypeError, ValueError):  # written by another version of dialin
        return note.text


def add_note_texts(spec: StudySpec, notes: list[Note]) -> list[Note]:
    return [note.model_copy(update={"text": note_text(spec, note)}) for note in notes]
