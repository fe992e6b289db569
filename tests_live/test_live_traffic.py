"""Studies on a live server under the traffic of clients that dialin was not told about."""

import json
import sys
from contextlib import nullcontext

import pytest

from dialin.servers.capabilities import Capability, has
from dialin.store.store import Store
from driving import needs_dialin_load
from live import FAST, ONE_OR_ALL, find, finish, interrupt, kill, only_with_all, until
from live_traffic import PURPOSE, QUICK, WAVE, bad_seconds, prepare, stalling, traffic, words_of
from playground import option_file, playground

pytestmark = needs_dialin_load

LOG = "innodb_flush_log_at_trx_commit"

BUILDS = [pytest.param(build, id=build.id) for build in ONE_OR_ALL if build.version >= (5, 6)]


@pytest.fixture(scope="module", params=BUILDS)
def server(request):
    with playground(request.param, PURPOSE, *words_of(request.param)) as made:
        prepare(made)
        yield made


@pytest.fixture
def account(server, tmp_path):
    return ["--defaults-file", option_file(server, tmp_path / "account.cnf")]


def values(server):
    """The server's variables, without the one that it adapts by itself while threads wait to enter InnoDB."""
    return {name: value for name, value in server.variables().items() if name != "innodb_thread_sleep_delay"}


def candidate(verdict, name):
    return next(one for one in verdict["candidates"] if one["name"] == name)


def live_of(verdict, name):
    return next(one for one in verdict["live"]["candidates"] if one["name"] == name)


def test_a_candidate_that_stalls_the_server_trips_the_guard_and_is_given_up_with_the_server_as_it_was(
    dialin, server, account, tmp_path, capsys
):
    with stalling(server) as candidate_that_stalls:
        before = values(server)
        sweep = ["sweep", candidate_that_stalls, *account, *QUICK, "--minutes", "3", "--out", tmp_path / "study"]
        with traffic(server, tmp_path / "clients", workload="oltp_update_index", connections=16, rate="100") as clients:
            out, err = dialin(*sweep, "--json", code=1)
        assert values(server) == before
    verdict, value = json.loads(out), candidate_that_stalls.partition("=")[2]
    assert verdict["headline"].startswith("Inconclusive: no safe candidate is left to compare with the baseline")
    assert candidate(verdict, value)["state"] == "unsafe"
    assert live_of(verdict, value)["trips"] == 2
    (note,) = [note for note in verdict["warnings"] if note["code"] == "guard_tripped"]
    with Store.open(tmp_path / "study") as store:
        bad = [bad_seconds(clients, trial) for trial in store.trials() if trial.candidate == value]
    with capsys.disabled():
        sys.stdout.write(f"\nrestored in {note['data']['restored_in']:.3f} s, bad seconds by period: {bad}\n")
    # A busy machine may be late once, or keep the clients from what the server would do.
    assert min(bad) <= 2
    assert max(bad) <= 6
    assert err.count("The guard restored the baseline") == 2
    text, _ = dialin("explain", tmp_path / "study", code=dialin.any_code)
    assert "Every time that the guard restored the baseline" in text


@only_with_all
def test_a_planted_effect_is_found_with_its_direction_while_the_load_rises_and_falls(dialin, server, account, tmp_path):
    before = values(server)
    sweep = ["sweep", f"{LOG}=2", "--accept-weaker-durability", *account, *QUICK, "--minutes", "6", "--worthwhile", "10%"]
    with traffic(server, tmp_path / "clients", workload="oltp_write_only", rate=WAVE, seconds=40):
        verdict = dialin.verdict(*sweep, "--out", tmp_path / "study")
    assert values(server) == before
    assert verdict["goal"] == "latency"
    assert candidate(verdict, "2")["goal_ratio"]["high"] < 1
    assert verdict["recommended_candidate"] == "2"
    assert live_of(verdict, "2")["load"]["low"] < 1.1
    page = (tmp_path / "study" / "report.html").read_text()
    assert "Live, own traffic" in page


@only_with_all
def test_identical_candidates_differ_in_nothing_that_is_claimed_while_the_load_rises_and_falls(
    dialin, server, account, tmp_path
):
    study = tmp_path / "aa.toml"
    study.write_text(
        f'attach = true\ntraffic = "own"\naa = 2\ndefaults-file = "{account[1]}"\nminutes = 3\nobserve = 30\nmeasure = 2\n'
        "warmup = 1\n"
    )
    with traffic(server, tmp_path / "clients", rate=WAVE, seconds=40):
        verdict = dialin.verdict("run", study, "--yes", "--out", tmp_path / "study", code=dialin.any_code)
    assert not {"better", "worse", "unsafe"} & {one["state"] for one in verdict["candidates"]}
    assert verdict["winners"] == []


@only_with_all
def test_a_study_that_was_killed_leaves_at_most_one_value_changed_which_the_next_command_puts_back(
    dialin, server, account, tmp_path
):
    before = values(server)
    sweep = ["sweep", f"{LOG}=2", "--accept-weaker-durability", *account, *QUICK, "--minutes", "4", "--out", tmp_path / "study"]
    with traffic(server, tmp_path / "clients"):
        process = dialin.start(*sweep)
        until(lambda: values(server)[LOG] == "2", every=0.02)
        kill(process.pid)
        process.communicate()
        now = values(server)
        assert {name: value for name, value in now.items() if before[name] != value} == {LOG: "2"}
        again = dialin.start("resume", tmp_path / "study", "--yes", "--minutes", "4")
        until(lambda: values(server)[LOG] == before[LOG], every=0.02)
        until(lambda: values(server)[LOG] == "2", every=0.02)  # it goes on
        err = interrupt(again)
    assert "dialin resume" in err
    assert values(server) == before


REFUSED = [
    ([f"{LOG}=2"], "weakens durability"),
    (["innodb_buffer_pool_size=256M"], "is not changed on a live server"),
    (["sql_mode=ANSI"], "is not changed on a live server"),
    (["back_log=90"], "only at startup"),
    (["sort_buffer_size=512K"], "copied to each session"),
    (["innodb_io_capacity=300", "--threads", "4"], "--threads is for a load that dialin applies"),
    (["innodb_io_capacity=300", "--minutes", "1"], "nothing is decided before 16"),
    (["innodb_io_capacity=300", "--warmup", "0"], "washout of at least 1 s"),
    (["innodb_io_capacity=300", "--goal", "stability"], "goal stability is not for live traffic"),
]


@pytest.mark.parametrize(("words", "says"), REFUSED, ids=[words[0] for words, _ in REFUSED])
def test_changes_that_a_live_server_must_not_get_are_refused_and_nothing_is_changed(
    server, account, refused, tmp_path, words, says
):
    before = values(server)
    options = [*account, *QUICK, "--minutes", "5"]
    with traffic(server, tmp_path / "clients") if "sort_buffer" in words[0] else nullcontext():
        assert says in refused("sweep", words[0], *options, *words[1:])
    assert values(server) == before


def test_a_server_that_nobody_uses_and_an_account_that_lacks_a_privilege_are_refused(server, account, refused):
    sweep = ["sweep", "innodb_io_capacity=300", *account, *QUICK, "--minutes", "5"]
    assert "The server has no traffic" in refused(*sweep)
    privilege = "SYSTEM_VARIABLES_ADMIN" if has(server.build, Capability.PERSIST) else "SUPER"
    server.query(f"REVOKE {privilege} ON *.* FROM dialin@localhost")
    try:
        assert privilege in refused(*sweep)
    finally:
        server.query(f"GRANT {privilege} ON *.* TO dialin@localhost")


@only_with_all
def test_a_value_that_somebody_else_sets_ends_the_study_and_stays(dialin, server, account, tmp_path):
    sweep = ["sweep", "innodb_io_capacity=300", *account, *QUICK, "--minutes", "4", "--out", tmp_path / "study"]
    was = values(server)["innodb_io_capacity"]
    with traffic(server, tmp_path / "clients"):
        process = dialin.start(*sweep)
        until(lambda: values(server)["innodb_io_capacity"] == "300", every=0.02)
        server.query("SET GLOBAL innodb_io_capacity = 450")
        code, _, err = finish(process)
    assert code == 1, err
    assert "Something other than dialin keeps changing innodb_io_capacity" in err
    assert values(server)["innodb_io_capacity"] == "450"
    server.query(f"SET GLOBAL innodb_io_capacity = {was}")


@pytest.mark.skipif(not FAST.startswith("mariadb"), reason="it takes a server that starts with the performance schema off")
def test_a_server_that_does_not_time_its_statements_is_refused_with_what_helps(refused, tmp_path):
    with playground(find(FAST), PURPOSE) as made:
        account = ["--defaults-file", option_file(made, tmp_path / "account.cnf")]
        said = refused("sweep", "innodb_io_capacity=300", *account, *QUICK, "--minutes", "5")
    assert "does not show how long its statements take" in said
    assert "INSTALL SONAME 'query_response_time'" in said
