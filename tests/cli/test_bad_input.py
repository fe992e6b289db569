"""What needs no server to be refused: one line, a remedy, exit code 2, nothing left behind."""

import os
import shutil
import subprocess
import sys

import pytest

from dialin.store.store import STUDY_FILE, Store
from fixtures import example_studies, stored_study


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["swep"], "Did you mean 'sweep'?"),
        (["sweep", "a_b=1,2", "--thread", "3"], "--threads"),
        (["sweep", "a_b=1,2", "--threads", "many"], "--threads"),
        (["sweep", "nonsense"], "this is not VARIABLE=V1,V2,... Write it like"),
        (["sweep", "a_b=1,2", "--minutes", "-1"], "must be greater than 0"),
        (["sweep", "a_b=1,2", "a_b=3,4"], "swept twice"),
        (["sweep", "a_b=1"], "has only one value"),
        (["sweep", "a_b=,,"], "a_b has no value"),
        (["sweep", "a_b=1,1"], "same value twice"),
        (["sweep", "a;b=1,2"], "cannot be the name"),
        (["sweep", "a_b=1,2", "--set", "a-b=3"], "a_b is swept, and set for all candidates"),
        (["sweep", "a_b=1,2", "--set", "x"], "not NAME=VALUE"),
        (["sweep", "a_b=1,2", "--threads", "0"], "--threads"),
        (["sweep", "a_b=1,2", "--worthwhile", "much"], "--worthwhile"),
        (["sweep", "a_b=1,2", "--rand-type", "normal"], "--rand-type"),
        (["sweep", "a_b=1,2", "--workload", "oltp_nothing"], "no workload or file 'oltp_nothing'"),
        (["sweep", "a_b=1,2", "--workload", "sysbench:tpcc-like"], "dialin-load applies it"),
        (["sweep", "a_b=1,2", "--workload", "queue", "--table-size", "5"], "docs/workload-files.md"),
        (["sweep", "a_b=1,2", "--workload", "none.toml"], "no workload file"),
        (["tune", "a_b=5..1"], "5..1 is not a range"),
        (["tune", "a_b=few..many"], "few..many is not a range"),
        (["tune", "a_b=1"], "a list takes at least two values"),
        (["tune", "a;b"], "cannot be the name"),
        (["tune", "a_b=1..2", "a-b=3..4"], "a_b is named twice"),
        (["tune", "a_b=1..9", "--rate", "100"], "every setting that keeps up has that throughput"),
        (["tune", "a_b=1..9", "--threads", "1,4", "--worst", "30%"], "--worst is for one number of threads"),
        (["tune", "a_b=1..9", "--confirm"], "--confirm is not for a tune"),
        (["sweep", "a_b=1..9"], "a_b=1..9 is a range, and a sweep compares single values"),
        (["sweep", "a_b=64M..8G"], "Search the range: dialin tune a_b=64M..8G"),
        (["sweep", "a_b=1,9", "--worst", "30%"], "--worst is for a tune"),
        (["compare", "none.cnf", "other.cnf"], "none.cnf"),
        (["compare"], "nothing to compare"),
        (["run", "none.toml"], "cannot be read"),
        (["run", "/dev/zero"], "/dev/zero is not a file"),
        (["compare", "/dev/zero", "/dev/zero"], "/dev/zero is not a file"),
        (["resume", "nowhere"], "There is no directory nowhere"),
        (["report", "."], "holds no dialin study"),
        (["servers", "install", "postgres@16"], "does not name a build"),
        (["servers", "stop", "abc"], "No server 'abc' is running"),
        (["servers", "add", "nowhere"], "nowhere"),
    ],
)
def test_misuse_is_one_line_with_its_remedy_and_exit_code_2(dialin, words, says, tmp_path):
    code, out, err = dialin(*words)
    assert code == 2, err
    assert says in err
    assert err.count("\n") == 1, "one line"
    assert out == ""
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("dialin-")] == []


def test_a_directory_that_holds_something_is_not_written_to(dialin, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    code, _, err = dialin("sweep", "a_b=1,2", "--out", "mine")
    assert code == 2
    assert "not empty" in err


@pytest.mark.parametrize(
    "words", [[], ["sweep"], ["compare"], ["tune"], ["run"], ["resume"], ["report"], ["servers"], ["servers", "start"]]
)
def test_help_teaches_and_names_the_exit_codes(dialin, words):
    code, out, _ = dialin(*words, "--help")
    assert code == 0
    assert "Usage" in out
    if not words:
        assert "Exit codes" in out


def test_the_version_is_reported(dialin):
    assert dialin("--version")[1].startswith("dialin ")


def as_somebody_without_rights(tmp_path, *words):
    """Run dialin as somebody who may not write everywhere, which root is only without its capabilities."""
    prefix = ["setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search"]
    command = [*(prefix if os.geteuid() == 0 else []), sys.executable, "-m", "dialin", *words]
    environment = {**os.environ, "DIALIN_HOME": str(tmp_path / "home")}
    return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=60)


@pytest.mark.parametrize("words", [["sweep", "a_b=1,2"], ["run", "recipe:read-buffer-size"]])
@pytest.mark.parametrize("out", ["file", "file/x"])
def test_a_file_is_no_place_for_a_study_and_nothing_is_started(dialin, tmp_path, words, out):
    (tmp_path / "file").touch()
    code, _, err = dialin(*words, "--out", out)
    assert (code, "file is not a directory" in err) == (2, True), err
    assert err.endswith("Name another --out\n")


def test_a_place_that_nobody_may_write_to_is_refused_before_anything_is_started(tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    process = as_somebody_without_rights(tmp_path, "sweep", "a_b=1,2", "--out", "locked/x")
    assert process.returncode == 2, process.stderr
    assert "no permission to write to " in process.stderr
    assert process.stderr.endswith("Name another --out\n")


def test_a_directory_without_a_study_is_not_said_to_hold_one(dialin, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter.txt").write_text("dear")
    assert "resume" not in dialin("sweep", "a_b=1,2", "--out", "mine")[2]
    stored_study.keep(example_studies.inconclusive(), tmp_path / "mine")
    assert "dialin resume mine" in dialin("sweep", "a_b=1,2", "--out", "mine")[2]


def test_a_study_that_had_no_room_does_not_stand_in_the_way_of_the_next_try(dialin, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "study.lock").touch()
    assert "not empty" not in dialin("sweep", "a_b=1,2", "--out", "mine")[2]


@pytest.mark.parametrize("command", ["explain", "report"])
def test_a_study_on_a_medium_that_nobody_can_write_to_is_shown(tmp_path, command):
    study = tmp_path / "study"
    study.mkdir()
    stored_study.keep(example_studies.winner(), study)
    study.chmod(0o555)
    process = as_somebody_without_rights(tmp_path, command, "study")
    assert all(shown in process.stdout for shown in ("innodb_buffer_pool_instances = 16", "1,120", "1,403"))
    assert process.returncode == 0
    assert process.stderr.startswith("" if command == "explain" else "Note: the files in study were not rewritten")
    assert not (study / "report.html").exists()


def test_a_killed_study_is_read_where_the_index_of_its_log_cannot_be_made(tmp_path):
    (tmp_path / "study").mkdir()
    (tmp_path / "killed").mkdir()
    stored_study.keep(example_studies.winner(), tmp_path / "study")
    with Store.open(tmp_path / "study") as writer:
        writer.say(5.0, "the last words")
        for name in (STUDY_FILE, f"{STUDY_FILE}-wal"):
            shutil.copy(tmp_path / "study" / name, tmp_path / "killed")
    (tmp_path / "killed").chmod(0o555)
    process = as_somebody_without_rights(tmp_path, "explain", "killed")
    assert (process.returncode, process.stderr) == (0, "")


def test_who_has_no_home_directory_is_reported_to_name_one(dialin, monkeypatch):
    monkeypatch.setenv("DIALIN_HOME", "~no-such-user/x")
    for words in (["servers"], ["restore"], ["sweep", "a_b=1,2"], ["doctor"]):
        code, _, err = dialin(*words)
        assert code == 2
        assert err == "dialin: The home directory is unknown. Set DIALIN_HOME to a directory that you may write to, without ~\n"


def test_a_cache_that_is_a_file_is_named(dialin, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "file"))
    code, _, err = dialin("servers")
    assert (code, "servers.json cannot be read: Not a directory. Set DIALIN_HOME" in err) == (2, True)


def test_a_current_directory_that_is_gone_is_named(dialin, tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    code, _, err = dialin("sweep", "a_b=1,2")
    assert (code, err.count("\n")) == (1, 1)
    assert "the current directory: No such file or directory" in err


def test_a_study_file_that_is_too_large_is_refused_and_not_read(dialin, tmp_path):
    with (tmp_path / "large.toml").open("wb") as file:
        file.truncate(10 * 1024**4)
    code, _, err = dialin("run", "large.toml")
    assert (code, "larger than 1 MiB" in err) == (2, True)


def test_a_candidate_without_a_name_is_refused(dialin, tmp_path):
    (tmp_path / "study.toml").write_text('[candidates.""]\na_b = 1\n[candidates.other]\na_b = 2\n')
    code, _, err = dialin("run", "study.toml")
    assert (code, "candidates: a candidate has no name" in err.replace("'", "")) == (2, True), err


@pytest.mark.parametrize(("limit", "named"), [("-v 4000000", "-v"), ("-f 1000", "-f"), ("-n 64", "-Hn")])
def test_a_limit_of_the_shell_that_is_too_low_is_named(tmp_path, limit, named):
    command = f"ulimit {limit}; exec {sys.executable} -m dialin sweep innodb_io_capacity=200,2000 --minutes 9"
    environment = {**os.environ, "DIALIN_HOME": str(tmp_path / "home")}
    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert f"ulimit {named} limits" in done.stderr


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"a = {'[' * 2000}{']' * 2000}", "is not TOML that dialin reads: it is nested too deeply"),
        (f"minutes = {'1' * 4301}", "is not TOML"),
    ],
    ids=["nested too deeply", "a number of 4,301 digits"],
)
def test_a_document_that_python_does_not_read_is_misuse(dialin, tmp_path, text, says):
    (tmp_path / "odd.toml").write_text(text)
    code, _, err = dialin("run", "odd.toml")
    assert (code, "internal error" in err) == (2, False)
    assert says in " ".join(err.split())
