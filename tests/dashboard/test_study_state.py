import pytest

from dialin.dashboard.study_state import State, resume_command, session_state, text_of
from dialin.model.progress import Progress, SessionState
from dialin.model.verdict import Note
from fixtures import example_studies

VERDICT, INCONCLUSIVE = example_studies.winner().verdict, example_studies.inconclusive().verdict
COMMAND = "dialin resume DIR"


def progress(session=SessionState.RUNNING, **others):
    return Progress(session, 0.0, **others)


@pytest.mark.parametrize(
    ("stands", "verdict", "held", "state"),
    [
        (None, None, True, State.READYING),
        (progress(), None, True, State.READYING),
        (progress(ends=9.0), None, True, State.RUNNING),
        (progress(ends=9.0), VERDICT, True, State.RUNNING),
        (progress(SessionState.FINISHED), VERDICT, True, State.FINISHED),
        (progress(ends=9.0), None, False, State.DEAD),
        (progress(), None, False, State.DEAD),
        (progress(ends=9.0), VERDICT, False, State.DEAD),
        (progress(SessionState.FINISHED), VERDICT, False, State.FINISHED),
        (progress(SessionState.STOPPED), VERDICT, False, State.STOPPED),
        (progress(SessionState.FAILED), None, False, State.FAILED),
        (None, VERDICT, False, State.FINISHED),
        (None, None, False, State.RESTING),
    ],
)
def test_how_a_study_stands_follows_from_what_it_wrote_and_from_who_holds_it(stands, verdict, held, state):
    assert session_state(stands, verdict, held=held) is state


@pytest.mark.parametrize("state", State)
@pytest.mark.parametrize("verdict", [None, VERDICT, INCONCLUSIVE])
def test_whatever_ended_without_a_verdict_says_how_to_go_on(state, verdict):
    text = text_of(state, progress(), verdict)
    command = resume_command(state, verdict, COMMAND, 20)
    assert text.name
    assert bool(command) == text.sentence.endswith(":"), "a sentence that leads to a command ends with a colon"


def test_a_study_that_spent_its_minutes_is_offered_more():
    assert resume_command(State.FINISHED, INCONCLUSIVE, COMMAND, 20) == f"{COMMAND} --minutes 40"
    note = Note(code="inconclusive", data={"minutes": 73})
    for named in ({"warnings": [note]}, {"reason_data": {"minutes": 73}}):
        verdict = INCONCLUSIVE.model_copy(update=named)
        assert resume_command(State.FINISHED, verdict, COMMAND, 20) == f"{COMMAND} --minutes 73"
    assert resume_command(State.FINISHED, VERDICT, COMMAND, 20) == ""
    assert resume_command(State.DEAD, None, COMMAND, 20) == COMMAND


def test_a_failure_is_reported_in_its_own_words_and_nothing_in_them_acts():
    text = text_of(State.FAILED, progress(SessionState.FAILED, reason="The disk is full\x1b[2J."), None)
    assert text.sentence.startswith("The disk is full\\x1b[2J. Completed trials are safe")
