"""What status listings beside logs count: shares of a server's work that differ between candidates."""

import pytest

from dialin.logs.analyze_runs import analyze
from dialin.logs.assignment import AssignmentRule
from dialin.logs.beside_logs import read_beside
from dialin.logs.judgement import Request
from dialin.logs.log_folder import load
from dialin.logs.status_listings import read_status_listing
from fixtures.analyses import BY, codes, repeated, text
from fixtures.sysbench_logs import write

PAGES = "page requests that read from disk"


def counters(reads, requests=1000, uptime=300):
    return f"Uptime\t{uptime}\nInnodb_buffer_pool_read_requests\t{requests}\nInnodb_buffer_pool_reads\t{reads}\n"


FORMS = {
    "tabs": counters(20),
    "table": "".join(f"| {line.replace(chr(9), ' | ')} |\n" for line in counters(20).splitlines()),
    "vertical": "".join(
        f"Variable_name: {line.replace(chr(9), chr(10) + '        Value: ')}\n" for line in counters(20).splitlines()
    ),
    "two listings of one start": counters(980, 9000, 200) + counters(1000, 10_000),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_listing_in_any_form_shows_shares_and_the_uptime(tmp_path, form):
    (path := tmp_path / "status.txt").write_text(FORMS[form])
    found = read_status_listing(path)
    assert (found.shares, found.uptime.seconds) == ({PAGES: 0.02}, 300)


def test_listings_of_two_starts_show_nothing(tmp_path):
    (path := tmp_path / "status.txt").write_text(counters(20) + counters(30, uptime=20))
    assert read_status_listing(path).shares == {}


@pytest.mark.parametrize(
    ("reads", "is_named"), [((40, 41, 42, 3, 4, 5), True), ((40, 41, 6, 3, 4, 5), False), ((1, 1, 1, 0, 0, 0), False)]
)
def test_shares_that_differ_in_all_runs_are_a_finding(tmp_path, reads, is_named):
    beside = {
        f"bpi{value}-r{run}.status.txt": counters(reads[3 * place + run])
        for place, value in enumerate((8, 32))
        for run in range(3)
    }
    directory = write(tmp_path / "a", **repeated({8: 1000, 32: 1100}), **beside)
    folder = load([directory])
    found = analyze(
        folder, Request(rule=AssignmentRule(by=BY)), read_beside({run.name: run.path for run in folder.runs}, [directory])
    )
    assert ("status_differs" in codes(found.findings)) is is_named
    if is_named:
        assert (
            text(found.findings, "status_differs")
            == f"By the status listings, {PAGES} differ (8: 4.0 % to 4.2 %; 32: 0.3 % to 0.5 %)"
        )
