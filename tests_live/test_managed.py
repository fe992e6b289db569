"""Studies whose settings a command applies: on servers that the account may not SET, restarted with their own option file."""

import signal

import pytest

from dialin.paths import Home
from dialin.store.store import Store
from live import EASY, FAST, FAST_OR_ALL, SHORT, find, interrupt, kill, measuring, only_with_all, until
from managed_server import managed

STATIC = {
    "mysql@5.6": ["innodb_log_file_size=8M"],
    "mysql@9.7": ["innodb_buffer_pool_instances=2", "--set", "innodb_buffer_pool_size=1G"],
}
"""A variable that only a start sets, with a value beside the one that the server has; back_log on all other builds."""

STUDY = [*SHORT, *EASY, "--minutes", "5", "--worthwhile", "100%"]


@pytest.fixture(scope="module", params=FAST_OR_ALL, ids=lambda build: build.id)
def server(request, tmp_path_factory):
    with managed(request.param, tmp_path_factory.mktemp("managed")) as made:
        yield made


@pytest.fixture(scope="module")
def fast(tmp_path_factory):
    """One server for what is the same on all of them: the one that starts fastest."""
    with managed(find(FAST), tmp_path_factory.mktemp("managed")) as made:
        yield made


def in_force(out, name):
    with Store.open(out) as store:
        return [trial.in_force[name] for trial in store.trials() if name in trial.in_force]


def test_variables_that_only_a_start_sets_are_compared_and_put_back_after_a_kill(dialin, server):
    before, out = server.state(), dialin.directory / "study"
    sweep = next((words for name, words in STATIC.items() if server.server.build.id.startswith(name)), ["back_log=70"])
    process = dialin.start("sweep", *sweep, *STUDY, *server.words(), "--out", out)
    values = set()
    for position in (1, 2):
        measuring(out, position=position)
        values.add(server.server.variables()[sweep[0].partition("=")[0]])
    kill(process.pid)
    process.communicate()
    assert len(values) == 2, "the value of the server, and the one that is tried"
    _, err = dialin("restore")
    assert "the original settings: applied by the command" in err
    assert server.state() == before
    assert not list(Home.of().undo.glob("*.*json"))


@only_with_all  # tests/places/attached/test_applied.py shows it
def test_dynamic_variables_are_applied_by_the_command_where_the_account_may_not_set_them(dialin, fast):
    before, out = fast.state(), dialin.directory / "study"
    count = fast.directory / "calls"
    command = fast.script("counting", f"echo >>{count}\n{OPTION_FILE}\nrestart")
    sweep = ["sweep", "innodb_io_capacity=300,3000", "--baseline", "300", *STUDY]
    process = dialin.start(*sweep, *fast.words(command), "--out", out)
    measuring(out, block=2)
    calls = len(count.read_text())
    interrupt(process)
    assert fast.state() == before
    assert calls == 1 + 2, "of three trials the third needs no call: it has the setting of the second"
    assert set(in_force(out, "innodb_io_capacity")) == {"300", "3000"}
    with Store.open(out) as store:
        record = store.read()
    assert record.spec.place.command_seconds > 0
    assert "counting.sh" not in record.command
    _, err = dialin("resume", out, "--yes", code=2)
    assert "Give it again: --apply-command" in err


OPTION_FILE = """
if grep -q '"undo": true' $directory/change.json; then
  [ ! -e $directory/mine ] || cp $directory/mine $file
else
  [ -e $directory/mine ] || cp $file $directory/mine
  cat $directory/mine $directory/settings.cnf >$file
fi
"""
UNDO = "grep -q '\"undo\": true' $directory/change.json"


@pytest.mark.parametrize(
    ("sweep", "body", "says"),
    [
        pytest.param("back_log=70", "exit 0", "did not restart the server, which has answered for 10 s", id="not restarted"),
        pytest.param(
            "back_log=70",
            "echo no such unit; exit 3",
            "The apply command failed with exit code 3",
            id="fails",
            marks=only_with_all,
        ),
        pytest.param(
            "innodb_io_capacity=300",
            "exit 0",
            "exit code 0, but innodb_io_capacity is still",
            id="lies",
            marks=only_with_all,
        ),
        pytest.param(
            "back_log=70",
            "cp $file $directory/mine; echo 'net_write_timeout = 77' >>$file; restart; sleep 2; cp $directory/mine $file",
            "changes more than it was asked to: net_write_timeout (was",
            id="changes more",
            marks=only_with_all,
        ),
    ],
)
def test_a_command_that_does_not_do_what_it_is_for_ends_the_study_in_its_own_sentence(dialin, fast, sweep, body, says):
    before, out = fast.state(), dialin.directory / "study"
    words = ["sweep", sweep, *STUDY, *fast.words(fast.script("bad", body)), "--out", out]
    _, err = dialin(*words, code=1 if "still" in says else 3)
    assert says in err
    assert ("Preparing data" in err) is ("still" in says), "what can be known before data is prepared is"
    if "more" in says:
        fast.start_again()
        dialin("restore")
    assert fast.state() == before


@only_with_all  # tests/places/attached/test_applied.py shows it; a kill with the server down, below, that it is brought back
def test_a_candidate_with_which_the_server_does_not_start_has_failed_and_the_server_is_brought_back(dialin, fast):
    before, out = fast.state(), dialin.directory / "study"
    breaks = f"if grep -q 'back_log = 77' $file && ! {UNDO}; then echo no_such_option=1 >>$file; fi\nrestart"
    command = fast.script("breaks", OPTION_FILE + breaks)
    words = ["sweep", "back_log=77,70", "--baseline", "70", *STUDY, *fast.words(command), "--wait-for-server", "6"]
    _, err = dialin(*words, "--out", out, code=1)
    assert "(77) failed while its values were set" in err
    assert "With back_log=77 it fails, and with the original settings the server is back" in err
    assert fast.state() == before


POINTS = [
    *("rehearsal-before", "rehearsal-down", "rehearsal-after"),
    *("apply-before", "apply-file", "apply-down", "apply-after"),
    *("load", "undo-before", "undo-down"),
]
"""What the command is called for, and where in it dialin is killed: before it writes the file, after it, with the server down,
or before it ends; `load` is while the load runs."""
BY_DEFAULT = ("apply-down",)


@pytest.mark.parametrize("point", [pytest.param(one, marks=() if one in BY_DEFAULT else only_with_all) for one in POINTS])
def test_after_a_kill_at_any_point_all_is_put_back(dialin, fast, point):
    before, out = fast.state(), dialin.directory / "study"
    reached = fast.directory / f"reached-{point}"
    reached.unlink(missing_ok=True)
    down = f"kill $(cat {fast.server.directory}/server.pid); sleep 0.5" if point.endswith("down") else ":"
    body = f"""
here() {{ if [ $phase-$1 = {point} ] && [ ! -e {reached} ]; then touch {reached}; sleep 1; fi; }}
if ! {UNDO}; then phase=apply; touch $directory/tried; elif [ -e $directory/tried ]; then phase=undo; else phase=rehearsal; fi
here before
{OPTION_FILE}
here file
{down}
here down
restart
here after
"""
    process = dialin.start("sweep", "back_log=70", *STUDY, *fast.words(fast.script("slow", body)), "--out", out)
    if point == "load" or point.startswith("undo"):
        measuring(out, position=2)
    if point.startswith("undo"):
        process.send_signal(signal.SIGINT)
    if point != "load":
        until(reached.exists)
    kill(process.pid)
    process.communicate()
    dialin("restore")
    assert fast.state() == before
    assert not list(Home.of().undo.glob("*.*json"))


def test_a_tune_of_four_of_which_one_needs_a_start_leaves_the_server_as_it_was(dialin, fast):
    before, out = fast.state(), dialin.directory / "study"
    variables = ["innodb_io_capacity=200..2000", "innodb_flush_neighbors=0,1", "innodb_lru_scan_depth=200..2000"]
    words = ["tune", *variables, "back_log=60..90", *SHORT, *EASY, "--goal", "latency", "--minutes", "20"]
    process = dialin.start(*words, *fast.words(), "--out", out)
    measuring(out, block=3)
    interrupt(process)
    assert fast.state() == before
    assert len(set(in_force(out, "innodb_io_capacity"))) > 1
