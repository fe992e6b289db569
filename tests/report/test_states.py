"""One vocabulary of states: every view has the same one, and none contradicts the outcome or the interval beside it."""

import io
import itertools
import json
import re
from html import unescape

import numpy as np
import pytest
from rich.console import Console

from dialin import json_documents
from dialin.evidence.why_verdict import explain
from dialin.frames import tables
from dialin.model.study import Goal
from dialin.model.verdict import AgainstBest, CandidateState, Estimate, Outcome
from dialin.report.document.parts import SectionKey, find
from dialin.report.document.study_document import study_document
from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_document
from dialin.sentences.state_sentences import state_text
from dialin.sentences.verdict_sentences import certainty, outcome
from dialin.stats.decide import Rules
from dialin.stats.throughput import TrialSpeed, decide_throughput
from dialin.verdict.candidate_states import Claim, Compared, candidate_states
from fixtures import example_studies, tuned
from fixtures.long_form import IS_LONG

RULES = Rules(worthwhile=0.02, confidence=0.95)
JUDGED = {name: make for name, make in example_studies.EVERY.items() if name != "unfinished"}


def contradictions(states, ratios, claim):
    """What a reader would find contradictory, by the states, the intervals (the higher the better) and the outcome."""
    found = []
    low_end, high_end = 1 / (1 + claim.worthwhile), 1 + claim.worthwhile
    for name, state in states.items():
        ratio = ratios.get(name)
        if name == claim.baseline or ratio is None or ratio.low is None:
            continue
        agrees = {
            CandidateState.BETTER: ratio.low > 1,
            CandidateState.LIKELY_BETTER: ratio.low > 1,
            CandidateState.WORSE: ratio.low <= 1,
            CandidateState.LIKELY_WORSE: ratio.low <= 1,
            CandidateState.EQUAL: low_end <= ratio.low and ratio.high <= high_end,
            CandidateState.TOO_CLOSE: ratio.low <= 1 <= ratio.high,
            CandidateState.SAFE_CHOICE: name == claim.choice and ratio.high > 1,
        }
        if not agrees.get(state, True):
            found.append((name, state, ratio))
    if claim.outcome is Outcome.WINNER and states[claim.choice] is not CandidateState.BETTER:
        found.append(("winner", states[claim.choice]))
    if claim.outcome is Outcome.INCONCLUSIVE and CandidateState.SAFE_CHOICE in states.values():
        found.append("an inconclusive study has a choice")
    chosen = (CandidateState.BETTER, CandidateState.SAFE_CHOICE, CandidateState.EQUAL)
    if claim.choice is not None and states[claim.choice] not in chosen:
        found.append(("choice", states[claim.choice]))
    return found


def higher_is_better(ratio, goal):
    if ratio is None or ratio.low is None or goal is Goal.THROUGHPUT:
        return ratio
    return Estimate(mean=1 / ratio.mean, low=1 / ratio.high, high=1 / ratio.low)


def claim_of(record):
    verdict = record.verdict
    choice = (verdict.winners or [verdict.recommended_candidate])[0]
    return Claim(
        verdict.verdict, None if verdict.verdict is Outcome.INCONCLUSIVE else choice, verdict.baseline, verdict.worthwhile
    )


@pytest.mark.parametrize("name", JUDGED)
def test_no_state_of_an_example_contradicts_its_interval_or_its_outcome(name):
    record = JUDGED[name]()
    verdict = record.verdict
    states = {one.name: one.state for one in verdict.candidates}
    ratios = {one.name: higher_is_better(one.goal_ratio, verdict.goal) for one in verdict.candidates}
    assert contradictions(states, ratios, claim_of(record)) == []


@pytest.mark.parametrize("seed", range(60 if IS_LONG else 20))
def test_no_state_of_a_simulated_study_contradicts_its_interval_or_its_outcome(seed):
    """Studies of two to five candidates that differ by nothing to 10 %, with noise, with and without stalls."""
    random = np.random.default_rng(seed)
    names = [str(number) for number in range(2 + seed % 4)]
    levels = {name: random.choice([0.0, 0.0, 0.005, 0.03, 0.1, -0.05]) for name in names}
    stalls, noise = random.choice([0.0, 0.1]), random.choice([0.002, 0.01, 0.04])
    trials = []
    for block, name in itertools.product(range(12), names):
        typical = 1000 * np.exp(levels[name] + random.normal(0, noise))
        mean = typical * (1 - stalls * random.uniform() * (random.uniform() < 0.3))
        trials.append(TrialSpeed("run", name, block + len(trials) / 100, mean, typical, 0.001))
        if len(trials) % len(names) or block < 1:
            continue
        decision = decide_throughput(trials, names, "0", RULES)
        compared = [Compared(n, decision.states[n], decision.ratios[n], n in decision.better) for n in names]
        choice = None if decision.outcome is Outcome.INCONCLUSIVE else decision.choice
        claim = Claim(decision.outcome, choice, "0", RULES.worthwhile)
        states = candidate_states(compared, claim)
        assert contradictions(states, decision.ratios, claim) == []


@pytest.mark.parametrize("withheld", [False, True])
def test_every_combination_of_what_is_known_has_a_state_that_agrees(withheld):
    ends = [(0.8, 0.9), (0.97, 1.01), (0.99, 1.01), (1.001, 1.1), (0.9, 1.1), (1.2, 1.3)]
    for (low, high), against, better in itertools.product(ends, AgainstBest, (False, True)):
        one = Compared("b", against, Estimate(mean=(low + high) / 2, low=low, high=high), better)
        base = Compared("a", AgainstBest.INCONCLUSIVE, Estimate(mean=1, low=1, high=1))
        claim = Claim(Outcome.INCONCLUSIVE, None, "a", 0.02, withheld)
        states = candidate_states([base, one], claim)
        assert contradictions(states, {"b": one.ratio}, claim) == []
        assert withheld <= (states["b"] in (CandidateState.NO_CLAIM, CandidateState.UNSAFE, CandidateState.NOT_MEASURED))


def test_identical_settings_are_equal_however_wide_the_interval():
    wide = Estimate(mean=1, low=0.8, high=1.3)
    compared = [Compared("a", AgainstBest.TIES, None), Compared("b", AgainstBest.TIES, wide, is_identical=True)]
    states = candidate_states(compared, Claim(Outcome.NO_WORTHWHILE_DIFFERENCE, "a", "a", 0.02))
    assert set(states.values()) == {CandidateState.EQUAL}


@pytest.mark.parametrize("name", JUDGED)
def test_every_view_has_the_same_state(name):
    record = JUDGED[name]()
    verdict, why = record.verdict, explain(record)
    document = study_document(record, why)
    table = find(document.section(SectionKey.CANDIDATES).parts, "candidates-table")
    words = [state_text(one.state, verdict.worthwhile) for one in verdict.candidates]
    assert [row.cells[-1].text for row in table.rows] == words
    stored = json.loads(json_documents.render_verdict(verdict))
    assert [one["state"] for one in stored["candidates"]] == [one.state.value for one in verdict.candidates]
    assert tables.verdict(verdict)["state"].to_list() == [one.state.value for one in verdict.candidates]
    console = Console(file=io.StringIO(), width=400)
    print_document(document, console)
    page = re.sub(r"<[^>]+>", " ", html.render(record, why))
    for text in (console.file.getvalue(), unescape(page), markdown.render(record, why)):
        assert all(word in text.replace("\xa0", " ").replace("\\", "") for word in words)


@pytest.mark.parametrize("name", JUDGED)
def test_how_sure_is_about_what_the_headline_says(name):
    record = JUDGED[name]()
    verdict = record.verdict
    figure, _ = certainty(record, verdict)
    if verdict.verdict in (Outcome.WINNER, Outcome.TIE):
        assert figure == "proven"
    elif "probability" in verdict.headline:
        assert f"{figure} probability" in verdict.headline


def test_a_tune_that_proves_a_gain_says_so_in_the_same_words_everywhere():
    record = tuned.tuned()
    assert outcome(record).startswith("Gain proven")
    assert record.verdict.verdict is Outcome.GAIN
    assert record.verdict.chosen.state is CandidateState.BETTER
