"""Captures keep their statements as long as they are told to, and then only figures."""

import errno
import os
import stat
import time
from pathlib import Path

import pytest

from dialin.capture.capture_files import check_out
from dialin.capture.retention import KEEP_DAYS, forget_expired, keep_for, list_capture, retention_of
from dialin.errors import UserError
from dialin.paths import Home

DAY = 86_400.0


@pytest.fixture
def home(tmp_path):
    return Home(tmp_path / "home")


def capture(home, directory, *, days=14.0, now=0.0):
    list_capture(home, directory)
    directory.mkdir()
    (directory / "statements.zst").write_bytes(b"people's data")
    (directory / "summary.json").write_text("{}")
    keep_for(directory, days, now)


def names(directory):
    return {path.name for path in directory.iterdir()}


def test_statements_are_removed_when_their_days_are_over_and_figures_stay(home, tmp_path):
    shop, other = tmp_path / "shop.capture", tmp_path / "other.capture"
    capture(home, shop, days=14)
    capture(home, other, days=30)
    assert list(forget_expired(home, 13.9 * DAY)) == []
    assert list(forget_expired(home, 14.1 * DAY)) == [shop]
    assert names(shop) == {"summary.json", "keep.json"}
    assert "statements.zst" in names(other)
    assert list(forget_expired(home, 29 * DAY)) == []
    assert list(forget_expired(home, 31 * DAY)) == [other]
    assert list(home.captures.iterdir()) == []


def test_the_note_of_the_days_is_private_and_says_when_they_are_over(home, tmp_path):
    capture(home, tmp_path / "shop.capture", days=2, now=1_795_413_685.0)
    assert retention_of(tmp_path / "shop.capture").date == "2026-11-25"
    for path in (tmp_path / "shop.capture" / "keep.json", *home.captures.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


ALTERED = {"nested": "[" * 5000, "a list": "[1]", "digits": '{"made": ' + "1" * 4301 + "}", "no text": "\0"}


@pytest.mark.parametrize("text", ALTERED.values(), ids=ALTERED)
def test_a_note_that_was_altered_says_no_other_time_than_the_usual_one(home, tmp_path, text):
    capture(home, tmp_path / "shop.capture", days=2)
    (tmp_path / "shop.capture" / "keep.json").write_text(text)
    assert retention_of(tmp_path / "shop.capture").days == KEEP_DAYS


def test_statements_are_not_removed_because_their_note_could_not_be_read(home, tmp_path, monkeypatch):
    capture(home, tmp_path / "shop.capture", days=365)
    real = os.open

    def failing(path, *arguments, **words):
        if Path(path).name == "keep.json":
            raise OSError(errno.EMFILE, os.strerror(errno.EMFILE), str(path))
        return real(path, *arguments, **words)

    monkeypatch.setattr(os, "open", failing)
    assert list(forget_expired(home, time.time() + 20 * DAY)) == []
    assert "statements.zst" in names(tmp_path / "shop.capture")


def test_a_capture_that_is_being_made_or_whose_disk_is_not_there_stays_listed(home, tmp_path):
    mounted = tmp_path / "disk"
    mounted.mkdir()
    list_capture(home, mounted / "shop.capture")
    (listed,) = home.captures.iterdir()
    now = listed.stat().st_mtime
    assert list(forget_expired(home, now)) == []
    assert listed.exists()
    mounted.rmdir()
    list(forget_expired(home, now + 2 * DAY))
    assert listed.exists()
    mounted.mkdir()
    list(forget_expired(home, now + 2 * DAY))
    assert not listed.exists()


def test_another_directory_in_its_place_is_judged_by_what_it_says_itself(home, tmp_path):
    shop = tmp_path / "shop.capture"
    capture(home, shop, days=1)
    keep_for(shop, 100, 0.0)
    assert list(forget_expired(home, 50 * DAY)) == []


def test_a_capture_is_never_within_a_study(tmp_path):
    study = tmp_path / "study"
    (study / "more").mkdir(parents=True)
    check_out(study / "more" / "shop.capture")
    (study / "study.db").touch()
    with pytest.raises(UserError, match="within the study"):
        check_out(study / "more" / "shop.capture")


@pytest.mark.parametrize(("name", "says"), [("there", "exists"), ("nowhere/shop.capture", "cannot be written")])
def test_where_nothing_can_be_written_is_said_first(tmp_path, name, says):
    (tmp_path / "there").mkdir()
    with pytest.raises(UserError, match=says):
        check_out(tmp_path / name)


def test_statements_are_not_removed_where_another_user_says_they_are(home, tmp_path, give_away):
    capture(home, tmp_path / "shop.capture", days=1)
    give_away(next(home.captures.iterdir()))
    assert list(forget_expired(home, 100 * DAY)) == []
    assert "statements.zst" in names(tmp_path / "shop.capture")
