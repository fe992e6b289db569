"""`dialin analyze`: made logs in, a verdict or one clear line out."""

import json

import pytest

from fixtures.report_page import Page
from fixtures.sysbench_logs import csv, human, series, write


@pytest.fixture
def dialin(dialin, tmp_path):
    logs = {
        f"bpi{value}-r{run}.log.gz": (csv if run else human)(series(level, seed=100 * value + run))
        for value, level in ((8, 1000), (32, 1100))
        for run in range(3)
    }
    write(tmp_path / "logs", **logs, notes__txt="none")

    return lambda *words: dialin("analyze", *words)


def test_a_verdict_ends_with_0_and_none_with_1(dialin):
    code, out, err = dialin("logs", "--by", r"bpi(\d+)")
    assert (code, err) == (0, "")
    assert out.startswith("32 wins by throughput:")
    assert dialin("logs/bpi8-r0.log.gz", "logs/bpi32-r0.log.gz")[0] == 1


def test_options_reach_the_analysis(dialin):
    _, out, _ = dialin(
        "logs", "--by", r"bpi(\d+)", "--json", "--baseline", "32", "--goal", "stability", "--worthwhile", "30%",
        "--confidence", "90%", "--skip", "50", "--ignore", "r",
    )  # fmt: skip
    found = json.loads(out)
    assert (found["schema"], found["baseline"], found["goal"]) == ("dialin/analysis/1", "32", "stability")
    assert (found["worthwhile"], found["confidence"]) == (0.3, 0.9)
    assert {run["warm_up_seconds"] for run in found["runs"]} == {50}


def test_candidates_come_from_a_table(dialin, tmp_path):
    (tmp_path / "c.toml").write_text('"8 instances" = "*bpi8*"\nmany = ["*bpi32-r1*", "*bpi32-r2*"]\n')
    code, out, _ = dialin("logs", "--candidates", "c.toml")
    assert code == 0
    assert out.startswith("many wins by throughput")


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("x = [", "is not TOML"),
        ("x = 3", "'x' is not a list of patterns"),
        ("x = [1]", "'x' is not a list of patterns"),
        ("x = []", "'x' is not a list of patterns"),
        ("", "names no candidate"),
        ("x = ['nothing*']", "matches no log"),
        ("x = ['*']\ny = ['*']", "matches x and y"),
    ],
)
def test_a_table_that_is_none_is_one_line(dialin, tmp_path, table, says):
    (tmp_path / "c.toml").write_text(table)
    code, out, err = dialin("logs", "--candidates", "c.toml")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "Missing argument"),
        (["none"], "There is no none"),
        (["logs/notes.txt"], "no report of a load program in it"),
        (["home"], "There is no"),
        (["logs", "--by", "bpi("], "not a regular expression"),
        (["logs", "--by", "pool"], "matches no name"),
        (["logs", "--by", "x", "--candidates", "c.toml"], "cannot be combined"),
        (["logs", "--candidates", "c.toml"], "c.toml cannot be read"),
        (["logs", "--baseline", "7"], "The baseline '7' is not one of the candidates"),
        (["logs", "--goal", "speed"], "--goal"),
        (["logs", "--worthwhile", "much"], "--worthwhile much"),
        (["logs", "--confidence", "100%"], "does not lie between"),
        (["logs", "--confidence", "nan"], "does not lie between"),
        (["logs", "--skip", "1e9"], "leaves 0 lines of bpi8-r0.log.gz"),
        (["logs", "--skip", "-1"], "--skip"),
    ],
)
def test_bad_input_is_one_line_with_exit_code_2(dialin, words, says):
    code, out, err = dialin(*words)
    assert (code, out, err.count("\n")) == (2, "", 1), err
    assert says in err


def test_help_teaches(dialin):
    code, out, _ = dialin("--help")
    assert code == 0
    assert "bpi" in out


def test_the_analysis_is_a_page_with_charts_and_markdown_to_paste(dialin, tmp_path):
    code, out, err = dialin("logs", "--by", r"bpi(\d+)", "--html", "page.html", "--markdown")
    assert (code, err) == (0, "")
    assert out.startswith("# 32 wins by throughput:")
    assert "\n| **32** | " in out
    page = Page((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert "32 wins by throughput:" in page.words
    assert list(page.data["charts"]) == ["throughput-course", "run-boxes"]
    assert all(chart["data"] for chart in page.data["charts"].values())


def test_a_page_that_cannot_be_written_is_one_line(dialin):
    code, _, err = dialin("logs", "--by", r"bpi(\d+)", "--html", "nowhere/page.html")
    assert (code, err.count("\n")) == (2, 1)
    assert "cannot be written" in err
