"""Files nested more deeply, or with longer numbers, than Python reads: ordinary errors, or as if they were not there."""

import json

import pytest

from dialin.capture.capture_files import STATEMENTS
from dialin.capture.retention import KEEP, forget_expired, list_capture, retention_of
from dialin.errors import UserError
from dialin.model.setting import as_number, parse_value, same_value
from dialin.paths import parse_json, read_toml
from dialin.preflight import machine_noise
from dialin.servers import builds
from dialin.servers.attached.undo import UndoLog
from dialin.servers.install import manifest
from dialin.servers.ledger import Ledger

DEEP = "[" * 20_000 + "]" * 20_000
LONG = "9" * 5_000
BAD = {"deep": DEEP, "deep objects": '{"a":' * 20_000 + "1" + "}" * 20_000, "long": LONG, "long inside": f'{{"made": {LONG}}}'}


@pytest.mark.parametrize("text", [*BAD.values(), "9" * 301, "", "{"], ids=[*BAD, "301 digits", "empty", "open"])
def test_json_that_python_does_not_read_is_no_json(text):
    with pytest.raises(ValueError, match=r".") as caught:
        parse_json(text)
    assert not isinstance(caught.value, RecursionError)


def test_json_is_read_as_it_is():
    assert parse_json('{"a": [1, 2.5, null, "b", 123456789012345678901234567890]}') == {
        "a": [1, 2.5, None, "b", 123456789012345678901234567890]
    }


@pytest.mark.parametrize("value", [DEEP, "{a=" * 5_000 + "1" + "}" * 5_000, LONG], ids=["arrays", "tables", "long"])
def test_toml_that_python_does_not_read_is_an_error_of_the_file(tmp_path, value):
    (tmp_path / "study.toml").write_text(f"a = {value}\n")
    with pytest.raises(UserError, match=r"study\.toml is not TOML"):
        read_toml(tmp_path / "study.toml", "Fix it")


@pytest.mark.parametrize("text", [LONG, f"-{LONG}", f"{LONG}G", f"{LONG}.5", f"0.{LONG}e999999", "9" * 400])
def test_a_number_that_no_server_has_is_text(text):
    assert isinstance(parse_value(text), str) or abs(parse_value(text)) < 1e300
    assert as_number(text) is None or abs(as_number(text)) < 1e300
    assert same_value(text, text)


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_files_of_dialin_that_cannot_be_read_are_ordinary(home, text):
    for directory in (home.undo, home.ledger):
        directory.mkdir(parents=True)
        (directory / "x.json").write_text(text)
    home.noise.write_text(text)
    home.config.write_text(text)
    (home.root / manifest.MANIFEST).write_text(text)
    assert list(UndoLog(home.undo).unreadable()) == ["x"]
    assert Ledger(home.ledger).entries() == []
    assert machine_noise.newest(home.noise, 60.0) is None
    assert manifest.read(home.root) is None
    with pytest.raises(UserError, match="is not dialin's list"):
        builds.added_directories(home)


@pytest.mark.parametrize(
    "text",
    [
        *BAD.values(),
        f'{{"made": {DEEP}, "keep_days": 1}}',
        '{"made": 1e999, "keep_days": 1}',
        '{"made": 1, "keep_days": NaN}',
        '{"made": -1e30, "keep_days": 1}',
        json.dumps({"made": "9" * 400, "keep_days": 1}),
    ],
)
def test_a_capture_whose_retention_cannot_be_read_keeps_its_statements_for_the_usual_time(home, tmp_path, text):
    capture = tmp_path / "capture"
    capture.mkdir()
    (capture / STATEMENTS).write_bytes(b"x")
    (capture / KEEP).write_text(text)
    assert retention_of(capture).date >= "2000"
    list_capture(home, capture)
    made = (capture / STATEMENTS).stat().st_mtime
    assert list(forget_expired(home, made + 13 * 86_400)) == []
    assert list(forget_expired(home, made + 15 * 86_400)) == [capture]
