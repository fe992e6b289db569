"""Lines that are read together give what each of them gives alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialin.readers import interval_reports
from dialin.readers.interval_reports import find_reports
from fixtures.sysbench_logs import HEADER, SUMMARY, csv, human, series

FORMS = {
    "text": human(series(seconds=120), whole=False),
    "csv": csv(series(seconds=120), whole=False),
    "sysbench 0.5": "".join(
        f"[{second}s] threads: 16, tps: {tps:.2f}, reads: {14 * tps:.2f}, writes: {4 * tps:.2f}, response time: 21.07ms (95%), "
        "errors: 0.00, reconnects:  0.00\n"
        for second, tps in enumerate(series(seconds=120), 1)
    ),
}


def alone(text):
    """The figures of each line of a text, read without those beside it."""
    return np.concatenate([find_reports(line)[1] for line in text.splitlines(keepends=True)])


@pytest.mark.parametrize("form", FORMS)
def test_lines_of_one_form_are_read_together(form, monkeypatch):
    text = FORMS[form].encode()
    expected = alone(text)
    monkeypatch.setattr(interval_reports, "_table_of", lambda texts, _form: np.empty((len(texts), interval_reports.COLUMNS)))
    _, together = find_reports(text)
    assert np.array_equal(together, expected)
    assert len(together) == 120


DAMAGE = {
    "a digit is gone": lambda line: line.replace(b".", b"", 1),
    "two points in a number": lambda line: line.replace(b".", b"..", 1),
    "a point begins a number": lambda line: line.replace(b" 0.50", b" .50").replace(b",0.50", b",.50"),
    "a number stands elsewhere": lambda line: line.replace(b"thds: 16", b"16thds: ", 1),
    "a counter below zero": lambda line: line.replace(b"16", b"18446744073709551615", 1),
    "more decimals": lambda line: line.replace(b".", b".123", 1),
    "a minus": lambda line: line.replace(b": ", b": -", 1),
    "cut off": lambda line: line[: len(line) // 2],
    "two lines in one": lambda line: line.rstrip() + line,
    "from Windows": lambda line: line.rstrip() + b"\r\n",
    "a word before it": lambda line: b"12:00:01 " + line,
    "another program's line": lambda _line: b"Killed by signal 15.\n",
    "the option of a script": lambda line: b"oltp.lua --time=60\n" + line,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("damage", DAMAGE)
@pytest.mark.parametrize("where", [0, 1, 60, 119])
def test_a_damaged_line_changes_no_other(form, damage, where):
    lines = FORMS[form].encode().splitlines(keepends=True)
    lines[where] = DAMAGE[damage](lines[where])
    text = b"".join(lines)
    starts, table = find_reports(text)
    assert np.array_equal(table, alone(text))
    assert len(starts) == len(table)
    assert starts == sorted(starts)


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(0, 119), st.sampled_from(sorted(DAMAGE))), max_size=4), st.sampled_from(sorted(FORMS)))
def test_damaged_lines_change_no_other(damages, form):
    lines = FORMS[form].encode().splitlines(keepends=True)
    for where, damage in damages:
        lines[where] = DAMAGE[damage](lines[where])
    text = b"".join(lines)
    assert np.array_equal(find_reports(text)[1], alone(text))


def test_what_stands_around_the_lines_is_no_report():
    text = (HEADER.format(threads=16) + FORMS["text"] + SUMMARY.format(transactions=5)).encode()
    starts, table = find_reports(text)
    assert np.array_equal(table, alone(FORMS["text"].encode()))
    assert text[starts[0] :].startswith(b"[ 1s ]")
    assert text[starts[-1] :].startswith(b"[ 120s ]") or text[starts[-1] :].startswith(b"\nSQL statistics")


@given(st.lists(st.decimals(0, 10**7, places=2), min_size=40, max_size=60))
def test_figures_are_those_of_python(figures):
    text = human([float(one) for one in figures], whole=False)
    _, table = find_reports(text.encode())
    assert table[:, 2].tolist() == [float(f"{float(one):.2f}") for one in figures]


def test_numbers_are_read_as_python_reads_them():
    rng = np.random.default_rng(3)
    texts = [f"{value:.{decimals}f}" for decimals in range(6) for value in rng.uniform(0, 10 ** rng.integers(1, 8), 200)]
    for some in (texts, [*texts, "18446744073709551615.00", "123456789012345678"]):
        assert interval_reports._numbers(" ".join(some).encode()).tolist() == [float(text) for text in some]
