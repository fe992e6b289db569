"""The sentences that all parts of a report share, built from a verdict's codes and figures when they are shown."""

from __future__ import annotations

from dialin.measures.of_verdict import improvement, measure_of
from dialin.measures.table import measure_of_study
from dialin.model.record import StudyRecord
from dialin.model.setting import describe
from dialin.model.study import StudySpec
from dialin.model.trial import TrialState
from dialin.model.verdict import CandidateState, Outcome, Verdict
from dialin.sentences import headline as headlines
from dialin.sentences import reasons
from dialin.sentences.changes import change_with_interval, detectable_difference
from dialin.sentences.names import baseline_in_sentence, name_in_sentence
from dialin.sentences.notes import add_note_texts
from dialin.sentences.state_sentences import OUTCOMES
from dialin.sentences.tune_words import best_so_far
from dialin.text import NOTHING, counted, duration, exact_percent, how_to_resume, percent, visible

_SCOPE = "The verdict is valid for this load, this data and {machines} only."
_SCOPE_OF_LIVE_TRAFFIC = "The verdict is valid for this server and for traffic like that of the hours of this study."


def add_sentences(spec: StudySpec, verdict: Verdict) -> Verdict:
    """Return a verdict with its headline, its reason and the texts of its notes as this version of dialin writes them."""
    return verdict.model_copy(
        update={
            "headline": headlines.headline(spec, verdict),
            "reason": reasons.reason(spec, verdict),
            "warnings": add_note_texts(spec, verdict.warnings),
            "confounds": add_note_texts(spec, verdict.confounds),
        }
    )


def outcome(record: StudyRecord) -> str:
    """Return the outcome of the verdict and the goal that decided it, in a few words."""
    if record.verdict is None:
        return "No verdict yet"
    return f"{OUTCOMES[record.verdict.verdict]}, by {record.verdict.goal}"


def headline(record: StudyRecord) -> str:
    if record.verdict:
        return visible(headlines.headline(record.spec, record.verdict))
    if record.course is not None:
        return best_so_far(record)
    done = sum(1 for trial in record.trials if trial.state is TrialState.DONE)
    return f"No verdict yet: {counted(done, 'trial')} completed ({counted(len(record.spec.candidates), 'candidate')})."


def reason(record: StudyRecord) -> str:
    """Return why this is recommended; where there is no verdict, how to get one."""
    if record.verdict:
        return visible(reasons.reason(record.spec, record.verdict, record.directory))
    return visible(f"Resume the study with: {how_to_resume(record.directory)}")


def gain(record: StudyRecord, verdict: Verdict) -> str:
    """Return what the recommendation gains over the baseline by the goal's measure, with its interval."""
    if verdict.recommended_candidate == verdict.baseline:
        return "The baseline is recommended, so nothing changes."
    best = verdict.chosen
    figures = headlines.gain(record.spec, verdict, best)
    if not figures:
        return "No figure is available: no block holds both the recommended candidate and the baseline."
    has_throughput = not measure_of(verdict).higher_is_better and best.ratio is not None
    throughput = f" Throughput: {change_with_interval(best.ratio, best.trials)}." if has_throughput else ""
    return f"{figures} against the baseline.{throughput}"


def confirmation(verdict: Verdict) -> str:
    """Return the sentence on the confirmation trials of the recommendation; empty if there were none."""
    fresh = verdict.confirmed
    if fresh is None:
        return ""
    figure = f"{change_with_interval(fresh.ratio)} {measure_of(verdict).phrase} against the baseline"
    trials = f"Confirmation trials ({counted(fresh.blocks, 'block')})"
    if fresh.ratio.low is None or fresh.ratio.high is None:
        return f"{trials} show {figure}; there is no interval yet."
    gain_in_goal = improvement(fresh.ratio, verdict)
    if gain_in_goal > 0:
        return f"{trials} confirm {figure}."
    return f"{trials} {'do not confirm a gain' if gain_in_goal == 0 else 'contradict it'}: {figure}."


def no_change(record: StudyRecord) -> str:
    """Return the sentence for a recommendation that changes no variable."""
    verdict = record.verdict
    if verdict is None:
        return "There is no verdict yet."
    if record.spec.compares_builds and verdict.recommended_candidate != verdict.baseline:
        return f"No option changes; the recommendation is the build {visible(verdict.chosen.server)}."
    if verdict.chosen.trials == 0:
        return "Nothing is recommended: the baseline could not be measured."
    if verdict.baseline == record.spec.initial:
        return f"Nothing changes: keep {baseline_in_sentence(record.spec)}."
    return "Nothing changes: keep the options of the baseline."


def goal(record: StudyRecord) -> str:
    """Return the measure of the goal, and which way it is better, such as `throughput; higher is better`."""
    spec = record.spec
    aim = measure_of(record.verdict) if record.verdict else measure_of_study(spec)
    return f"{aim.aim}; {aim.direction}."


def intervals(verdict: Verdict) -> str:
    return (
        f"Each interval holds by itself at {exact_percent(verdict.confidence)} confidence; states and claims rest on stricter "
        "thresholds, which hold for all candidates and looks together."
    )


def noise(verdict: Verdict) -> str:
    """Return the noise of a trial, and the smallest difference that the study can detect."""
    planned = verdict.detectable_planned
    expected = "" if planned is None else f" ({percent(planned)} was expected before the study)"
    matters = f"The smallest difference that matters is {exact_percent(verdict.worthwhile)}."
    if verdict.trial_noise is None or verdict.detectable is None:
        return f"The noise is not known yet, nor the smallest difference that can be detected{expected}. {matters}"
    detectable = detectable_difference(verdict.trials, verdict.detectable)
    return f"Trial-to-trial SD is {percent(verdict.trial_noise)}, so {detectable}{expected}. {matters}"


def proof(verdict: Verdict) -> str:
    """Return what has been shown about the recommended candidate, beyond that it is a safe choice."""
    if verdict.tune is not None and not verdict.shown_better:
        return "Not shown: a gain over the baseline."
    if verdict.chosen.state is CandidateState.WORSE:
        return "Another candidate was shown to be better, and is not recommended for the reason above."
    best = f"nothing is better than it by more than {exact_percent(verdict.worthwhile)}"
    shown = [*(["it is better than the baseline"] if verdict.shown_better else []), *([best] if verdict.shown_best else [])]
    if shown:
        return f"Shown: {' and '.join(shown)}."
    if verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE:
        return "This is a probability; a claim needs stronger evidence (--until best)."
    if verdict.recommended_candidate == verdict.baseline:
        return "Not shown yet: that nothing is better (--until best)."
    return "Not shown yet: that it is better than the baseline, or that nothing is better (--until better, --until best)."


def length(verdict: Verdict) -> str:
    """Return how long the study took, and how many seconds of host stalls."""
    load, wall = duration(60 * verdict.minutes_of_load), duration(60 * verdict.minutes_of_wall_clock)
    left_out = f" {lost_seconds_text(verdict.lost_seconds)} and excluded." if verdict.lost_seconds else ""
    return f"{load} of measured load in {wall} of trials.{left_out}"


def lost_seconds_text(seconds: int) -> str:
    """Return the text on seconds lost because the host stalled: `12 s of host stalls`."""
    return f"{seconds:,} s of host stalls"


def certainty(record: StudyRecord, verdict: Verdict) -> tuple[str, str]:
    """Return how sure the claim of the headline is, in a word or two, and what that means.

    It is the certainty of what the headline names, which need not be the recommended candidate: one with weaker durability may
    be better.
    """
    near = f"within {exact_percent(verdict.worthwhile)} of the best"
    if verdict.verdict in (Outcome.WINNER, Outcome.TIE, Outcome.GAIN):
        return "proven", "The claim holds for all candidates and looks together."
    if verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE and verdict.shown_best and headlines.are_equal(verdict):
        return "proven", f"All candidates are {near}."
    if verdict.verdict is Outcome.NO_WORTHWHILE_DIFFERENCE:
        return chance(verdict.probability_all_near), f"Probability that all candidates are {near}."
    named = headlines.subject(verdict)
    if named is None or named.probability is None:
        return NOTHING, "The probability of being the best is not known yet."
    name = name_in_sentence(record.spec, named.name)
    return chance(named.probability), f"Probability that {visible(name)} is {near}."


def chance(probability: float | None) -> str:
    """Return a probability in whole percent; an estimate is never shown as 0 % or 100 %."""
    return NOTHING if probability is None else headlines.probability(probability)


def scope(record: StudyRecord) -> str:
    """Return the limits of the verdict: the load, data and machines, or the server and traffic, for which it is valid."""
    if record.spec.is_live:
        return _SCOPE_OF_LIVE_TRAFFIC
    hosts = len(record.hosts_with_trials)
    return _SCOPE.format(machines=f"these {hosts} hosts" if hosts > 1 else "this machine")


def compared(record: StudyRecord) -> str:
    """Return what was compared, on which builds and under which load."""
    spec = record.spec
    candidates = (
        f"An A/A study: {len(spec.candidates)} identical candidates"
        if spec.is_aa
        else counted(len(spec.candidates), "candidate")
    )
    where = conditions(record)
    return f"{candidates} {'' if where.startswith('on ') else 'of '}{where}"


def circumstances(record: StudyRecord, verdict: Verdict, *, is_brief: bool = False) -> str:
    """Return on which builds, under which load, on which machine and for how long it was measured; in brief without sizes."""
    builds = " and ".join(dict.fromkeys(candidate.server for candidate in verdict.candidates))
    cpus = record.host.get("cpus")
    measured = (
        f"{duration(60 * verdict.minutes_of_wall_clock)}, {counted(sum(one.trials for one in verdict.candidates), 'trial')}"
    )
    workload = record.spec.workload
    load = workload.brief if is_brief else workload.describe()
    facts = [builds, load, counted(cpus, "CPU") if isinstance(cpus, int) else "", measured]
    return visible(" · ".join(filter(None, facts)))


def conditions(record: StudyRecord) -> str:
    """Return which variables were compared, on which builds and under which load."""
    spec = record.spec
    builds = list(dict.fromkeys(candidate.server for candidate in record.verdict.candidates)) if record.verdict else []
    builds = builds or list(dict.fromkeys(candidate.server for candidate in spec.candidates))
    variables = ", ".join(spec.variables_under_test)
    subject = f"{variables} " if variables else ""
    set_for_all = {**spec.fixed, **spec.held}
    fixed = f", with {describe(set_for_all)} for all" if set_for_all else ""
    return visible(f"{subject}on {' and '.join(builds)} under {spec.workload.describe()}{fixed}.")
