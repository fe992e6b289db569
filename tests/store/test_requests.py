import errno
import os

from dialin.store import requests


def test_a_study_is_asked_to_stop_and_that_is_taken_back(tmp_path):
    assert not requests.is_asked_to_stop(tmp_path)
    requests.ask_to_stop(tmp_path)
    requests.ask_to_stop(tmp_path)
    assert requests.is_asked_to_stop(tmp_path)
    requests.withdraw_stop(tmp_path)
    requests.withdraw_stop(tmp_path)
    assert not requests.is_asked_to_stop(tmp_path)


def test_where_it_cannot_be_reported_nobody_asks_and_the_study_goes_on(tmp_path, monkeypatch):
    def stale(*_, **__):
        raise OSError(errno.ESTALE, "Stale file handle")

    requests.ask_to_stop(tmp_path)
    monkeypatch.setattr(os, "stat", stale)
    assert not requests.is_asked_to_stop(tmp_path)
