"""How well a capture can be replayed, as far as it shows itself."""

import io
import json
from pathlib import Path

import pytest
from rich.console import Console

from dialin.capture.fitness import check_capture
from dialin.model.capture import Autocommit, CaptureSummary, CheckCode, Fitness, Obstacle, OpenSessions
from dialin.report.capture_page import add_check, finding_text, print_capture
from dialin.report.render.terminal_page import Page

AUTOCOMMIT = dict.fromkeys(Autocommit.model_fields, 0)
SAMPLE = Path(__file__).parents[2] / "schema" / "good" / "capture-summary-sysbench.json"


def summary(**changes):
    """A capture of the slow log with extra, of which nothing is missing, with changes."""
    stored = json.loads(SAMPLE.read_text())
    header = {**stored["capture"], "source": "slow+extra", "clock": "microsecond", "statements": 10_000}
    shape = {"steps": [], "transactions": 1000, "statements": 10_000, "seconds": 1.0, "rolled_back": 0, "unfinished": 4}
    whole = {
        **stored,
        "log_bytes": 1_000_000,
        "coverage": {"questions": 10_000, "logged": 9_999},
        "transactions": [shape],
        "not_replayed": [],
        "unread": dict.fromkeys(stored["unread"], 0),
    }
    capture = {**header, **changes.pop("capture", {})}
    return CaptureSummary.model_validate({**whole, "capture": capture, **changes})


def fitness_of(check, code):
    return next(finding.fitness for finding in check.findings if finding.code is code)


def test_a_whole_capture_is_good_in_all():
    check = check_capture(summary())
    assert {finding.fitness for finding in check.findings} == {check.fitness} == {Fitness.GOOD}
    assert [finding.code for finding in check.findings] == list(CheckCode)


MISSING = [
    ({"coverage": {"questions": 1000, "logged": 990}}, CheckCode.COVERAGE, Fitness.LIMITED),
    ({"coverage": {"questions": 1000, "logged": 900}}, CheckCode.COVERAGE, Fitness.POOR),
    ({"coverage": None}, CheckCode.COVERAGE, Fitness.LIMITED),
    ({"autocommit": {**AUTOCOMMIT, "unknown": 7, "unknown_changes": 9}}, CheckCode.AUTOCOMMIT, Fitness.GOOD),
    ({"autocommit": {**AUTOCOMMIT, "unknown": 7, "unknown_changes": 900}}, CheckCode.AUTOCOMMIT, Fitness.LIMITED),
    ({"not_replayed": [{"reason": Obstacle.XA, "statements": 400}]}, CheckCode.NOT_REPLAYED, Fitness.LIMITED),
    ({"not_replayed": [{"reason": Obstacle.NAMED_LOCK, "statements": 600}]}, CheckCode.NOT_REPLAYED, Fitness.POOR),
    ({"not_replayed": [{"reason": Obstacle.IN_ROUTINE, "statements": 600}]}, CheckCode.NOT_REPLAYED, Fitness.GOOD),
    ({"log_bytes": 1}, CheckCode.UNREAD, Fitness.GOOD),
    ({"capture": {"clock": "second"}}, CheckCode.TIMES, Fitness.LIMITED),
    ({"capture": {"clock": None}}, CheckCode.TIMES, Fitness.POOR),
    ({"capture": {"lack": "sessions"}}, CheckCode.REPLAYABLE, Fitness.POOR),
    ({"capture": {"lack": "times"}}, CheckCode.REPLAYABLE, Fitness.POOR),
    ({"capture": {"sampling": {"one_of": 100, "by": "query"}}}, CheckCode.SAMPLING, Fitness.POOR),
    ({"capture": {"sampling": {"one_of": 10, "by": "session"}}}, CheckCode.SAMPLING, Fitness.POOR),
    ({"capture": {"source": "slow"}}, CheckCode.ERRORS, Fitness.LIMITED),
    ({"capture": {"source": "general"}}, CheckCode.DURATIONS, Fitness.LIMITED),
]


@pytest.mark.parametrize(("changes", "code", "fitness"), MISSING)
def test_missing_facts_limit_the_fitness_and_the_worst_counts(changes, code, fitness):
    check = check_capture(summary(**changes))
    assert fitness_of(check, code) is fitness
    assert check.fitness is check.findings[0].fitness
    if fitness is not Fitness.GOOD:
        assert check.fitness is fitness
        assert code in [finding.code for finding in check.findings if finding.fitness is fitness]


def test_a_capture_without_statements_is_poor():
    assert check_capture(summary(capture={"statements": 0})).fitness is Fitness.POOR


def printed(check):
    out = io.StringIO()
    add_check(Page(Console(file=out, width=100)), check)
    return " ".join(out.getvalue().split())


def test_a_sample_of_the_statements_covers_about_its_share():
    check = check_capture(summary(coverage=None, capture={"sampling": {"one_of": 100, "by": "query"}}))
    coverage = next(finding for finding in check.findings if finding.code is CheckCode.COVERAGE)
    assert (coverage.figures["share"], coverage.fitness) == (0.01, Fitness.POOR)
    assert "has 1 of 100 statements" in printed(check)
    assert "has 1 of 10 sessions" in printed(check_capture(summary(capture={"sampling": {"one_of": 10, "by": "session"}})))


@pytest.mark.parametrize(("lack", "says"), [("sessions", "have no session numbers"), ("times", "have no times")])
def test_a_capture_without_sessions_or_times_says_why_it_cannot_be_replayed(lack, says):
    shown = printed(check_capture(summary(capture={"lack": lack})))
    assert shown.startswith("The capture cannot be replayed")
    assert says in shown


def test_every_finding_has_a_sentence_and_the_worst_stands_first():
    out = io.StringIO()
    check = check_capture(
        summary(coverage={"questions": 1000, "logged": 900}, capture={"source": "general", "clock": "second"})
    )
    page = Page(Console(file=out, width=100))
    add_check(page, check)
    for finding in check.findings:
        page.text(finding_text(finding))
    lines = out.getvalue().splitlines()
    assert "is not the load that was captured" in lines[0]
    assert "90.00 % of what the server counted" in lines[1]
    text = " ".join(" ".join(lines).split())
    for words in ("cannot be replayed", "could not be read", "no end in the logs", "within a second", "errors are unknown"):
        assert words in text


def test_sessions_that_are_not_in_the_log_are_named_beside_the_coverage():
    def sessions(*unarmed, clients=40):
        return OpenSessions(autocommit=True, sessions=[], clients=clients, unarmed=unarmed)

    for open_sessions, fitness in (
        (sessions(), Fitness.GOOD),
        (sessions(7), Fitness.LIMITED),
        (sessions(7, 8, 9), Fitness.POOR),
    ):
        assert fitness_of(check_capture(summary(), sessions=open_sessions), CheckCode.SESSIONS) is fitness
    out = io.StringIO()
    captured = summary()
    limited = sessions(7, 12)
    print_capture(captured, check_capture(captured, sessions=limited), Console(file=out, width=200), None, limited)
    shown = out.getvalue()
    assert "2 of 40 sessions, which began before the log had all statements: 7, 12." in shown
    add_check(Page(Console(file=out, width=200)), check_capture(captured, sessions=limited))
    assert "2 sessions (5.0 %; 7, 12) began before the slow log" in " ".join(out.getvalue().split())
    assert "none of their statements" not in shown


def test_a_capture_says_how_it_knows_its_autocommit():
    out = io.StringIO()
    captured = summary(autocommit={**AUTOCOMMIT, "off": 6, "inferred_off": 6, "unknown": 1, "unknown_statements": 20})
    print_capture(captured, check_capture(captured), Console(file=out, width=200), None)
    assert "off at the start of 6 sessions; 6 off, as COMMIT or ROLLBACK after changes" in out.getvalue()
    assert "1 unknown, taken as on" in out.getvalue()
