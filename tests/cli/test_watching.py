"""`--watch`: the live page beside a study."""

import pytest

from dialin.cli import conduct
from dialin.errors import DialinError, UserError

LINK = "http://127.0.0.1:40123/?t=0123456789abcdef"


class Process:
    """One that serves the page."""

    def __init__(self):
        self.ended = False

    def terminate(self):
        self.ended = True


@pytest.fixture
def process(monkeypatch):
    made = Process()
    monkeypatch.setattr(conduct.beside, "start", lambda words: (made, LINK))
    return made


def test_the_link_is_told_before_the_study_begins(tmp_path, process, capsys):
    with conduct._page(tmp_path, wanted=True) as link:
        assert link == LINK
        assert LINK in capsys.readouterr().err
    assert not process.ended, "the page outlives the study"


@pytest.mark.parametrize("error", [KeyboardInterrupt, DialinError("It failed")])
def test_the_page_shows_how_a_study_ended_that_did_not_end_well(tmp_path, process, error):
    with pytest.raises((KeyboardInterrupt, DialinError)), conduct._page(tmp_path, wanted=True):
        raise error
    assert not process.ended


def test_a_study_that_was_not_begun_leaves_no_page(tmp_path, process):
    with pytest.raises(UserError), conduct._page(tmp_path, wanted=True):
        raise UserError("It is in use")
    assert process.ended


def test_a_study_runs_though_its_page_does_not_begin(tmp_path, monkeypatch, capsys):
    def fail(_):
        raise DialinError("The live page did not begin: no port")

    monkeypatch.setattr(conduct.beside, "start", fail)
    with conduct._page(tmp_path, wanted=True) as link:
        assert link == ""
    assert "The live page did not begin" in capsys.readouterr().err


def test_no_page_is_served_unless_asked_for(tmp_path, process, capsys):
    with conduct._page(tmp_path, wanted=False) as link:
        assert link == ""
    assert capsys.readouterr().err == ""
