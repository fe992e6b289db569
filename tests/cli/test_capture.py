"""`dialin capture` without a server: a small log, and what is refused. The program that reads logs has tests of its own."""

import gzip
import json
import lzma
import re
from pathlib import Path

import pytest

from dialin.model.capture import CaptureSummary
from dialin.workloads import load_binary
from dialin.workloads.replay import replay_facts

LOG = """# Time: 2026-11-23T06:01:25.834957Z
# User@Host: root[root] @ localhost []  Id:    24
# Query_time: 0.000560  Lock_time: 0.000006 Rows_sent: 1  Rows_examined: 1
use t;
SET timestamp=1795413685;
select id,a from p where secret='hunter2';
# Time: 2026-11-23T06:01:26.834957Z
# User@Host: root[root] @ localhost []  Id:    24
# Query_time: 0.000560  Lock_time: 0.000006 Rows_sent: 1  Rows_examined: 1
SET timestamp=1795413686;
SET PASSWORD = 'hunter2';
"""

needs_program = pytest.mark.skipif(load_binary.find() is None, reason="dialin-load is not built: make driver")


@pytest.fixture
def dialin(dialin, monkeypatch):
    """Call dialin with words, and check its exit code; returns what it printed to both streams."""
    monkeypatch.delenv("COLUMNS", raising=False)  # where it is set, it is the width, in a pipe too; parallel tests have it

    def call(*words, code=0):
        replay_facts._replay_facts.cache_clear()  # as in a process of its own
        ended, out, err = dialin(*map(str, words))
        assert ended == code, out + err
        return out, err

    return call


@needs_program
def test_a_log_becomes_a_capture_that_is_shown_without_values(dialin, tmp_path):
    (tmp_path / "slow.log").write_text(LOG)
    shown, _ = dialin("capture", "from", "slow.log", "--out", "shop.capture")
    assert "1 statement in 1 session" in shown
    assert "select id, a from p where secret = ?" in shown
    assert "dropped from the capture" in shown
    assert "Coverage:" in shown
    text, _ = dialin("capture", "show", "shop.capture", "--json")
    assert CaptureSummary.model_validate_json(text).capture.statements == 1
    assert "hunter2" not in shown + text + (tmp_path / "shop.capture" / "summary.json").read_text()


LOGS = Path(__file__).parents[2] / "crates" / "dialin-load" / "tests" / "driver" / "logs"
COUNTED_ONLY = [
    ("mysql-5.5.log", "update a set n = ? where id = ?", "no session numbers"),
    ("general-without-times.log", "update a set n = ? where id = ?", "no times"),
    ("percona-8.0-sampled-statements.log", "commit", "1 of 100 statements"),
]


@needs_program
@pytest.mark.parametrize(("log", "digest", "why"), COUNTED_ONLY)
def test_statements_that_cannot_be_replayed_are_shown_and_a_replay_says_why(dialin, tmp_path, log, digest, why):
    dialin("capture", "from", LOGS / log, "--out", "shop.capture")
    shown, _ = dialin("capture", "show", "shop.capture")
    assert "1 statement" in shown
    assert digest in shown
    assert why in shown
    _, err = dialin("capture", "check", "shop.capture", "--data", ".", code=2)
    assert len(err.splitlines()) == 1
    assert "cannot be replayed" in err
    assert why in err


@needs_program
def test_piped_output_has_all_columns_and_all_of_each_cell(dialin, tmp_path):
    columns = ", ".join(f"a_column_of_a_wide_table_{number}" for number in range(20))
    (tmp_path / "slow.log").write_text(LOG.replace("id,a", columns))
    dialin("capture", "from", "slow.log", "--out", "shop.capture")
    shown, _ = dialin("capture", "show", "shop.capture")
    assert f"select {columns} from p where secret = ?" in shown
    assert re.search(r"# +statements +mean ms +rows read +failed +digest", shown)
    assert "Left out" not in shown


@needs_program
@pytest.mark.parametrize("damage", ["cut", "altered", "altered header", "empty", "other"])
def test_a_capture_whose_statements_are_damaged_is_never_said_to_be_replayable(dialin, tmp_path, damage):
    (tmp_path / "slow.log").write_text(LOG.partition("# Time: 2026-11-23T06:01:26")[0])
    shown, _ = dialin("capture", "from", "slow.log", "--out", "shop.capture")
    assert "The capture can be replayed" in shown
    statements = tmp_path / "shop.capture" / "statements.zst"
    whole = statements.read_bytes()
    begin_of_records = whole.index(whole[:4], 4)
    middle = (begin_of_records + len(whole)) // 2 if damage == "altered" else begin_of_records // 2
    altered = bytes([*whole[:middle], whole[middle] ^ 0x20, *whole[middle + 1 :]])
    statements.write_bytes({"cut": whole[:-8], "empty": b"", "other": b"no zstd"}.get(damage, altered))
    shown, _ = dialin("capture", "show", "shop.capture")
    assert "The capture cannot be replayed" in shown
    assert "can be replayed" not in shown
    _, err = dialin("capture", "check", "shop.capture", "--data", ".", code=2)
    assert "Its statements are damaged" in err


@needs_program
def test_the_text_can_be_forgotten(dialin, tmp_path):
    (tmp_path / "slow.log").write_text(LOG)
    dialin("capture", "from", "slow.log", "--out", "shop.capture", "--forget-text")
    assert [path.name for path in (tmp_path / "shop.capture").iterdir()] == ["summary.json"]


@needs_program
def test_the_next_capture_removes_the_statements_of_one_whose_days_are_over(dialin, tmp_path):
    (tmp_path / "slow.log").write_text(LOG)
    dialin("capture", "from", "slow.log", "--out", "old.capture", "--keep-days", "2")
    keep = tmp_path / "old.capture" / "keep.json"
    kept = json.loads(keep.read_text())
    assert kept["keep_days"] == 2
    keep.write_text(json.dumps({**kept, "made": kept["made"] - 2 * 86_400}))
    _, err = dialin("capture", "from", "slow.log", "--out", "new.capture")
    assert "Removed the statements of the capture" in err
    assert sorted(path.name for path in (tmp_path / "old.capture").iterdir()) == ["keep.json", "summary.json"]
    assert (tmp_path / "new.capture" / "statements.zst").exists()
    shown, _ = dialin("capture", "show", "old.capture")
    assert "select id, a from p where secret = ?" in shown


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "--attach"),
        (["--attach", "--arm", "30"], "is not a length of time"),
        (["--attach", "--max-size", "5"], "is not a size"),
        (["--attach", "--min-free", "5%"], "--min-free 5% is not a size"),
        pytest.param(["--attach", "--defaults-file", "nowhere.cnf"], "nowhere.cnf", marks=needs_program),
    ],
)
def test_a_missing_option_of_a_capture_is_one_line(dialin, tmp_path, words, says):
    _, err = dialin("capture", "start", "--out", "shop.capture", *words, code=2)
    assert len(err.splitlines()) == 1
    assert says in err


def test_a_capture_that_nobody_could_read_is_not_begun(dialin, tmp_path, monkeypatch):
    monkeypatch.setenv("DIALIN_LOAD", "none")
    _, err = dialin("capture", "start", "--attach", "--out", "shop.capture", code=2)
    assert "disables dialin-load" in err


@needs_program
def test_counters_that_do_not_belong_together_are_refused(dialin, tmp_path):
    (tmp_path / "slow.log").write_text(LOG)
    counters = {"schema": "dialin/capture-counters/1", "server": "9.7.4", "sql_mode": "", "time_zone": "UTC", "digests": None}
    for name, questions in (("before.json", 10), ("after.json", 5)):
        (tmp_path / name).write_text(json.dumps({**counters, "time": 1.0, "questions": questions, "uptime": 7}))
    words = ["--digests", "before.json,after.json", "--out", "shop.capture"]
    _, err = dialin("capture", "from", "slow.log", *words, code=2)
    assert "Name the earlier file first" in err
    assert not (tmp_path / "shop.capture").exists()


@needs_program
@pytest.mark.parametrize(
    ("log", "says"),
    [
        (None, "No such file"),
        (b"nothing of a log\n", "has no entry"),
        (b"", "is empty"),
        (gzip.compress(LOG.encode(), mtime=0), "gunzip --keep"),
        (lzma.compress(LOG.encode()), "xz -dk"),
        (b"\xfebin" + bytes(99), "is a binary log"),
    ],
)
def test_a_file_that_is_no_log_is_named_in_one_line(dialin, tmp_path, log, says):
    if log is not None:
        (tmp_path / "slow.log").write_bytes(log)
    _, err = dialin("capture", "from", "slow.log", "--out", "shop.capture", code=2)
    assert len(err.splitlines()) == 1
    assert "slow.log" in err
    assert says in err
    assert not (tmp_path / "shop.capture").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "nowhere"], "is not a directory"),
        (["show", "."], "is not a capture"),
        (["from", "slow.log", "--digests", "one.json", "--out", "x"], "does not name two files"),
    ],
)
def test_a_wrong_question_about_a_capture_is_one_line(dialin, tmp_path, words, says):
    _, err = dialin("capture", *words, code=2)
    assert len(err.splitlines()) == 1
    assert says in err


def test_a_capture_that_was_not_finished_is_said(dialin, tmp_path):
    (tmp_path / "records.zst").write_bytes(b"")
    _, err = dialin("capture", "show", ".", code=2)
    assert "was not finished" in err
    (tmp_path / "summary.json").write_text("{}")
    _, err = dialin("capture", "show", ".", code=2)
    assert "damaged" in err
