"""What `report.html` shows of a verdict: its figures, the candidates' table, and what speaks against it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dialin.model.measure import deciding
from dialin.model.record import StudyRecord
from dialin.model.verdict import Note, Outcome, Verdict
from dialin.report import facts, verdict_sentences
from dialin.report.figure_columns import Figure, columns
from dialin.report.style import Style
from dialin.report.trial_series import UNSTEADY
from dialin.text import change, counted, duration, exact_percent, listed, percent, visible


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the verdict's figures: what it answers, the figure large, and the sentence."""

    question: str
    figure: str
    sentence: str


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """A candidate in the table."""

    label: str
    colour: str
    is_baseline: bool
    is_recommended: bool
    has_left: bool
    cells: Sequence[Figure]
    state: str
    remarks: Sequence[str]


@dataclass(frozen=True, slots=True)
class Remark:
    """A warning or a confound, ready to show."""

    kind: str
    code: str
    text: str
    data: facts.Pairs


def tiles(record: StudyRecord, verdict: Verdict) -> list[Tile]:
    """Return the gain, how sure it is, how long the study took, and what it compared."""
    figure, gain = _gain(record, verdict)
    answers = [
        ("What it gains", figure, gain),
        ("How sure", _sure(verdict), _sureness(verdict)),
        ("How long it took", duration(60 * verdict.minutes_of_wall_clock), verdict_sentences.length(verdict)),
        (
            "What was compared",
            counted(len(verdict.candidates), "candidate"),
            f"{verdict_sentences.compared(record)} The goal is {verdict_sentences.goal(record)}",
        ),
    ]
    return [Tile(question, figure, _after(figure, sentence)) for question, figure, sentence in answers]


def remarks(verdict: Verdict) -> list[Remark]:
    """Return the confounds and the warnings."""

    def remark(kind: str, note: Note) -> Remark:
        return Remark(kind, visible(note.code), f"{visible(note.text).rstrip('.')}.", facts.inventory(note.data))

    return [
        *(remark("confound", note) for note in verdict.confounds),
        *(remark("warning", note) for note in verdict.warnings),
    ]


def not_found(verdict: Verdict) -> str:
    """Return the sentence that names the problems that were looked for and not found; empty if all were found."""
    codes = {note.code for note in verdict.warnings}
    spoiled = {
        "other variables that differ": bool(verdict.confounds),
        "a load driver at its limit": bool(codes & {"client_limit", "client_shares_machine", "busy_load_thread"}),
        "other load on the machine": "other_load" in codes,
        "failed trials": any(candidate.failed for candidate in verdict.candidates),
        "trials that did not become steady": any(candidate.unsteady for candidate in verdict.candidates) or UNSTEADY in codes,
        "seconds lost to the host": verdict.lost_seconds > 0,
    }
    absent = [what for what, is_present in spoiled.items() if not is_present]
    return f"Looked for and not found: {listed(absent)}." if absent else ""


def titles(verdict: Verdict) -> list[str]:
    """Return what stands above the figures of the candidates' table."""
    return [f"{column.title} ({column.better})" if column.better else column.title for column in columns(verdict)]


def rows(record: StudyRecord, verdict: Verdict, style: Mapping[str, Style]) -> list[VerdictRow]:
    """Return the candidates' table."""
    return [
        VerdictRow(
            label=verdict_sentences.naming(record.spec).labels[candidate.name],
            colour=style[candidate.name].colour,
            is_baseline=candidate.name == verdict.baseline,
            is_recommended=candidate.name == verdict.recommended_candidate,
            has_left=candidate.left_after is not None,
            cells=[column.of(candidate) for column in columns(verdict)],
            state=verdict_sentences.state_alone(candidate),
            remarks=verdict_sentences.state_remarks(candidate, verdict),
        )
        for candidate in verdict.candidates
    ]


def _gain(record: StudyRecord, verdict: Verdict) -> tuple[str, str]:
    """Return the gain in figures and its sentence: of fresh trials if there are any, since choosing inflates a gain."""
    ratio = deciding(verdict.chosen, verdict)
    if verdict.confirmed:
        sentence = (
            f"{verdict_sentences.confirmation(verdict)} In the race it was {verdict_sentences.change_with_interval(ratio)}."
        )
        return change(verdict.confirmed.ratio.mean), sentence
    is_unchanged = verdict.recommended_candidate == verdict.baseline
    return "no change" if is_unchanged else change(ratio.mean if ratio else None), verdict_sentences.gain(record, verdict)


def _sure(verdict: Verdict) -> str:
    if verdict.verdict is Outcome.UNRESOLVED:
        return "not yet"
    if verdict.verdict is Outcome.SAFE_CHOICE:
        return verdict_sentences.chance(verdict.chosen.probability)
    return exact_percent(verdict.confidence)


def _sureness(verdict: Verdict) -> str:
    """Return what the figure of sureness means, and the smallest difference that can be detected."""
    best, within = verdict.chosen, exact_percent(verdict.worthwhile)
    text = "Confidence of all intervals of throughput and of ratios together."
    if verdict.verdict is Outcome.SAFE_CHOICE and best.probability is not None:
        text = f"Probability that what is recommended is within {within} of the best; not all others were shown to be worse."
    elif verdict.verdict is Outcome.UNRESOLVED:
        text = f"What the intervals hold, they hold together at {exact_percent(verdict.confidence)} confidence."
    if verdict.detectable is not None:
        text += f" Differences of {percent(verdict.detectable)} or more can be told apart; the smallest that matters: {within}."
    return text


def _after(figure: str, sentence: str) -> str:
    rest = sentence.removeprefix(figure).lstrip()
    return rest[:1].upper() + rest[1:]
