"""What needs no server to be refused: one line, a remedy, exit code 2, nothing left behind."""

import pytest


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["swep"], "Did you mean 'sweep'?"),
        (["sweep", "a_b=1,2", "--thread", "3"], "--threads"),
        (["sweep", "a_b=1,2", "--threads", "many"], "--threads"),
        (["sweep", "nonsense"], "this is not VARIABLE=V1,V2"),
        (["sweep", "a_b=1,2", "a_b=3,4"], "swept twice"),
        (["sweep", "a_b=1"], "one value only"),
        (["sweep", "a_b=1,1"], "same value twice"),
        (["sweep", "a;b=1,2"], "cannot be the name"),
        (["sweep", "a_b=1,2", "--set", "x"], "not NAME=VALUE"),
        (["sweep", "a_b=1,2", "--threads", "0"], "--threads"),
        (["sweep", "a_b=1,2", "--worthwhile", "much"], "--worthwhile"),
        (["sweep", "a_b=1,2", "--rand-type", "normal"], "--rand-type"),
        (["sweep", "a_b=1,2", "--workload", "oltp_nothing"], "no workload 'oltp_nothing'"),
        (["sweep", "a_b=1,2", "--workload", "sysbench:tpcc-like"], "dialin-load applies it"),
        (["sweep", "a_b=1,2", "--workload", "queue", "--table-size", "5"], "docs/workload-files.md"),
        (["sweep", "a_b=1,2", "--workload", "none.toml"], "no workload file"),
        (["compare", "none.cnf", "other.cnf"], "none.cnf"),
        (["compare"], "nothing to compare"),
        (["run", "none.toml"], "cannot be read"),
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
    "words", [[], ["sweep"], ["compare"], ["run"], ["resume"], ["report"], ["servers"], ["servers", "start"]]
)
def test_help_teaches_and_names_the_exit_codes(dialin, words):
    code, out, _ = dialin(*words, "--help")
    assert code == 0
    assert "Usage" in out
    if not words:
        assert "Exit codes" in out


def test_the_version_is_told(dialin):
    assert dialin("--version")[1].startswith("dialin ")
