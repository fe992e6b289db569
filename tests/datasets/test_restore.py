"""How the data of trials is restored, with a driver that stands in for dialin-load."""

import json
import mmap
import shutil
import signal
import tempfile
import traceback
from pathlib import Path

import psutil
import pytest

from dialin.datasets import restore
from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import (
    KeptData,
    TrialData,
    choose_way,
    forecast,
    restore_sentence,
    shows_mapped_writes,
)
from dialin.errors import UserError
from dialin.model.place import Restore, RestoreWay
from dialin.paths import Home
from dialin.servers.ledger import Ledger
from dialin.workloads import load_binary

FAKE = """#!/bin/sh
echo "$@" >> {calls}
[ -e {broken} ] && {{ mkdir -p "$3/half"; echo "error: the disk is ill. Check it" >&2; exit 1; }}
rm -rf "$3"; cp -r "$2" "$3"; echo equal > "$7"; touch "$5"
echo '{{"bytes_written":1}}'
"""


@pytest.fixture
def driver(tmp_path, monkeypatch):
    """A driver that copies everything and records its calls; it fails while the file `broken` exists."""
    program = tmp_path / "driver"
    program.write_text(FAKE.format(calls=tmp_path / "calls", broken=tmp_path / "broken"))
    program.chmod(0o755)
    monkeypatch.setenv("DIALIN_LOAD", str(program))
    monkeypatch.setattr(restore, "_has_reflinks", lambda home: False)
    return tmp_path


@pytest.fixture
def dataset(home):
    directory = home.datasets / "key"
    (directory / "data" / "mysql").mkdir(parents=True)
    (directory / "data" / "ibdata1").write_text("pages")
    (directory / "data" / "auto.cnf").write_text("uuid")
    return StoredDataset("key", directory, 1000)


@pytest.fixture
def trials(home, clock):
    home.sandboxes.mkdir(parents=True)
    said = []
    data = TrialData(home, Ledger(home.ledger), clock, said.append)
    data.said = said
    yield data
    data.end()
    assert not list(home.sandboxes.iterdir())
    assert not list(home.ledger.glob("*.json"))


def calls(driver):
    return (driver / "calls").read_text().splitlines() if (driver / "calls").exists() else []


def test_the_second_trial_gets_the_data_of_the_first_restored(driver, dataset, trials, home):
    first, second = driver / "first", driver / "second"
    trials.take(dataset, first)
    assert (first / "ibdata1").read_text() == "pages"
    (first / "ibdata1").write_text("changed")
    assert not trials.has(dataset)
    trials.keep(dataset, first)
    assert trials.has(dataset)
    assert not first.exists()
    trials.take(dataset, second)
    assert (second / "ibdata1").read_text() == "pages"
    assert not (second / "auto.cnf").exists(), "each server has an identity of its own"
    states = {call.split()[6] for call in calls(driver)}
    assert len(calls(driver)) == 2
    assert len(states) == 1


@pytest.mark.parametrize(
    ("pages", "copies", "restored_by_pages", "forecast_way"),
    [((9.0, 5.0), (3.0, 3.0), 3, "copy"), ((9.0, 2.0), (3.0, 3.0), 5, "pages"), ((9.0, 5.0), (3.0, 7.0), 4, "pages")],
)
def test_data_of_which_most_is_changed_is_copied_in_full_if_that_was_measured_to_be_faster(
    driver, dataset, trials, home, monkeypatch, pages, copies, restored_by_pages, forecast_way
):
    """The first restore, from nothing, writes all data: it is the measure of a full copy until there is a better one."""
    by_pages, full = iter([*pages, *pages[1:] * 3]), iter([*copies, *copies[1:] * 3])
    calls_before = []

    def monotonic():
        calls_before.append(len(calls(driver)))
        if len(calls_before) % 2:
            return 0.0
        is_first = len(calls_before) == 2
        return next(full if is_first or calls_before[-1] == calls_before[-2] else by_pages)

    monkeypatch.setattr(trials._clock, "monotonic", monotonic)
    for number in range(5):
        trials.take(dataset, driver / f"{number}")
        assert (driver / f"{number}" / "ibdata1").read_text() == "pages"
        trials.keep(dataset, driver / f"{number}")
    assert len(calls(driver)) == restored_by_pages
    assert forecast(home, trials._clock, dataset, 10**9).way == forecast_way


def test_a_way_that_is_given_stays_whatever_was_measured(driver, dataset, home, clock, monkeypatch):
    home.sandboxes.mkdir(parents=True)
    data = TrialData(home, Ledger(home.ledger), clock, print, RestoreWay.PAGES)
    ends = iter([0, 1, 0, 9, 0, 9, 0, 9, 0, 9])  # the first, from nothing, is the fastest
    monkeypatch.setattr(clock, "monotonic", lambda: next(ends))
    for number in range(5):
        data.take(dataset, driver / f"{number}")
        data.keep(dataset, driver / f"{number}")
    assert len(calls(driver)) == 5
    data.end()


def test_where_changed_pages_cannot_be_restored_the_data_is_copied_in_full_and_that_is_said(driver, dataset, trials, home):
    other = StoredDataset("other", dataset.directory, 1000)
    trials.take(other, driver / "other")
    trials.keep(other, driver / "other")
    (driver / "broken").touch()
    trials.take(dataset, driver / "first")
    assert not trials.has(other)
    assert list(home.sandboxes.iterdir()) == [], "what is kept is of no use any more"
    assert {path.name for path in (driver / "first").iterdir()} == {"ibdata1", "mysql"}
    assert trials.said == ["the disk is ill. Check it: the data is copied in full from now on"]
    trials.keep(dataset, driver / "first")
    assert (driver / "first").exists(), "it is removed with its sandbox"
    trials.take(dataset, driver / "second")
    assert len(calls(driver)) == 2


@pytest.fixture
def in_memory(monkeypatch):
    """A home on a tmpfs."""
    if shows_mapped_writes(Path("/dev/shm")):
        pytest.skip("/dev/shm is no tmpfs")
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        yield Home(Path(name))


@pytest.mark.skipif(load_binary.find() is None, reason="dialin-load is not built")
def test_what_a_server_wrote_through_a_mapping_is_restored_where_the_times_of_files_do_not_show_it(in_memory, clock):
    dataset = StoredDataset("key", in_memory.datasets / "key", 1000)
    dataset.data.mkdir(parents=True)
    log, copy = dataset.data / "ib_logfile0", in_memory.sandboxes / "trial"
    log.write_bytes(bytes(100_000))
    data = TrialData(in_memory, Ledger(in_memory.ledger), clock, pytest.fail, RestoreWay.PAGES)
    data.take(dataset, copy)
    with (copy / log.name).open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as mapped:
        mapped[9000] += 1  # reads it first, as MariaDB does with its redo log
    data.keep(dataset, copy)
    data.take(dataset, copy)
    assert (copy / log.name).read_bytes() == log.read_bytes()
    data.end()


@pytest.fixture
def studies(home, clock):
    """Two studies of a suite."""
    home.sandboxes.mkdir(parents=True)
    kept = KeptData()
    both = [TrialData(home, Ledger(home.ledger), clock, pytest.fail, kept=kept) for _ in range(2)]
    yield both
    for data in both:
        data.end()
    assert not list(home.sandboxes.iterdir())


def run_trial(data, dataset, target):
    data.take(dataset, target)
    (target / "ibdata1").write_text(f"changed by {target.name}")
    data.keep(dataset, target)


def test_the_studies_of_a_suite_leave_one_copy_of_their_data_for_each_other(driver, dataset, studies, home):
    first, second = studies
    for number, data in enumerate([first, second, first, second]):
        run_trial(data, dataset, driver / f"{number}")
        assert len(list(home.sandboxes.glob("*/*/data"))) == 1
    first.end()
    run_trial(second, dataset, driver / "last")
    assert len({call.split()[6] for call in calls(driver)}) == 1, "the copy has one state"


def test_what_is_known_of_one_load_of_a_suite_is_proved_once_for_each_other(driver, dataset, studies):
    first, second = studies
    for number, data in enumerate([first, first, second, second, first, second]):
        run_trial(data, dataset, driver / f"{number}")
    asked = [call.endswith("--prove") for call in calls(driver)]
    assert asked == [False, False, False, True, False, False], "after the first trial of the second"


def test_a_restore_is_by_changed_pages_whoever_ran_the_trial_before(driver, dataset, studies, clock, monkeypatch):
    ends = iter([0, 50, 0, 5, 0, 5])
    monkeypatch.setattr(clock, "monotonic", lambda: next(ends))
    for number, data in enumerate([*studies, studies[1]]):
        run_trial(data, dataset, driver / f"{number}")
    assert json.loads((dataset.directory / "restore.json").read_text()) == {"way": "pages", "seconds": 5}


def test_a_load_for_which_full_copies_are_faster_leaves_the_data_of_the_others(
    driver, dataset, studies, home, clock, monkeypatch
):
    writing, reading = studies
    ends = iter([0, 3, 0, 9, 0, 9, 0, 2, 0, 1])
    monkeypatch.setattr(clock, "monotonic", lambda: next(ends))
    for number in range(4):
        run_trial(writing, dataset, driver / f"{number}")
    assert len(calls(driver)) == 3, "the fourth is a full copy"
    (kept,) = home.sandboxes.glob("*/*/data")
    assert (kept / "ibdata1").read_text() == "changed by 2"
    run_trial(reading, dataset, driver / "5")
    assert len(calls(driver)) == 4
    assert (kept / "ibdata1").read_text() == "changed by 5"


def test_how_long_a_restore_takes_after_another_load_s_trial_is_not_held_for_its_own(
    driver, dataset, studies, clock, monkeypatch
):
    writing, reading = studies
    seconds = iter([3, 9, 9, 1, 1, 9, 2])  # what a read-only load leaves is restored in 1 s
    monkeypatch.setattr(clock, "monotonic", lambda: next(ends))
    ends = (end for second in seconds for end in (0, second))
    for number, data in enumerate([writing, writing, reading, reading, writing, writing]):
        run_trial(data, dataset, driver / f"{number}")
    assert len(calls(driver)) == 6
    run_trial(writing, dataset, driver / "last")
    assert len(calls(driver)) == 6, "its own take 9 s, a full copy 3"
    assert json.loads((dataset.directory / "restore.json").read_text()) == {"way": "copy", "seconds": 2}


def test_a_study_that_cannot_restore_changed_pages_leaves_the_data_of_the_others(driver, dataset, home, clock):
    home.sandboxes.mkdir(parents=True)
    kept, said = KeptData(), []
    unlucky, lucky = (TrialData(home, Ledger(home.ledger), clock, said.append, kept=kept) for _ in range(2))
    (driver / "broken").touch()
    run_trial(unlucky, dataset, driver / "unlucky")
    (driver / "broken").unlink()
    for number, data in enumerate([lucky, unlucky, lucky]):
        run_trial(data, dataset, driver / f"{number}")
        (left,) = home.sandboxes.glob("*/*/data")
        assert (left / "ibdata1").read_text() == f"changed by {number if data is lucky else number - 1}"
    assert len(said) == 1
    unlucky.end()
    assert list(home.sandboxes.iterdir()), "another study uses it"
    lucky.end()
    assert not list(home.sandboxes.iterdir())


@pytest.mark.parametrize("said", ["", "null", "[1]", "{}", '{"files":1', "restored", '{"unknown":1}'])
def test_a_driver_that_says_something_else_is_followed_by_full_copies(driver, dataset, trials, said):
    (driver / "driver").write_text(f'#!/bin/sh\nmkdir "$3"; echo half > "$3/half"; echo \'{said}\'\n')
    trials.take(dataset, driver / "first")
    assert {path.name for path in (driver / "first").iterdir()} == {"ibdata1", "mysql"}
    assert "the data is copied in full from now on" in trials.said[0]


def test_the_driver_s_error_is_named_whatever_it_says_after_it(driver, dataset, trials):
    (driver / "driver").write_text("#!/bin/sh\necho 'error: the disk is ill' >&2; echo 'note: a trace' >&2; exit 1\n")
    trials.take(dataset, driver / "first")
    assert trials.said == ["the disk is ill: the data is copied in full from now on"]


def test_a_trial_whose_data_was_lost_is_followed_by_a_copy_of_its_own(driver, dataset, trials):
    trials.take(dataset, driver / "first")
    shutil.rmtree(driver / "first")
    trials.keep(dataset, driver / "first")
    trials.take(dataset, driver / "second")
    assert (driver / "second" / "ibdata1").read_text() == "pages"


def test_data_that_is_kept_for_others_makes_room_where_the_disk_is_full(driver, dataset, trials, monkeypatch):
    trials.take(dataset, driver / "first")
    trials.keep(dataset, driver / "first")
    other = StoredDataset("other", dataset.directory, 1000)

    asked = []

    def check_space(directory, needed):
        asked.append(needed)
        if trials.has(dataset):
            raise UserError("no room")

    monkeypatch.setattr(restore, "check_space", check_space)
    trials._spare = 70
    trials.take(other, driver / "second")
    assert not trials.has(dataset)
    trials.keep(other, driver / "second")
    trials.take(other, driver / "third")
    assert asked == [1070, 1070, 70], "kept data is there already; temporary files are not"


def test_the_way_is_what_the_disk_and_this_installation_allow(driver, home, monkeypatch):
    assert choose_way(home) is RestoreWay.PAGES
    monkeypatch.setattr(restore, "_has_reflinks", lambda home: True)
    assert choose_way(home) is RestoreWay.REFLINK
    monkeypatch.setattr(restore, "_has_reflinks", lambda home: False)
    monkeypatch.setenv("DIALIN_LOAD", "none")
    assert choose_way(home) is RestoreWay.COPY
    assert list(home.root.rglob(".reflink*")) == []


def test_a_forecast_is_what_the_last_restore_took_else_a_full_copy_at_the_speed_of_the_disk(
    driver, home, clock, dataset, trials
):
    unmeasured = forecast(home, clock, None, 10**9)
    assert (unmeasured.way, unmeasured.measured) == (RestoreWay.PAGES, False)
    assert unmeasured.seconds > 0
    for number in range(2):
        trials.take(dataset, driver / f"{number}")
        trials.keep(dataset, driver / f"{number}")
    (dataset.directory / "restore.json").write_text(json.dumps({"way": "pages", "seconds": 7.5}))
    assert forecast(home, clock, dataset, 10**9) == Restore(way=RestoreWay.PAGES, seconds=7.5, measured=True)
    (dataset.directory / "restore.json").write_text("damaged")
    assert not forecast(home, clock, dataset, 10**9).measured
    assert list(home.sandboxes.glob(".probe*")) == []


@pytest.mark.parametrize(
    ("restored", "text"),
    [
        (
            Restore(way=RestoreWay.PAGES, seconds=0.84, measured=True),
            "Data is restored before each trial: only what the last trial changed is copied, about 0.8 s (as measured here)",
        ),
        (
            Restore(way=RestoreWay.PAGES, seconds=80),
            "Data is restored before each trial: only what the last trial changed is copied, "
            "at most about 80 s (not measured yet)",
        ),
        (
            Restore(way=RestoreWay.COPY, seconds=12),
            "Data is restored before each trial: a full copy, about 12 s (not measured yet)",
        ),
    ],
)
def test_the_plan_says_how_data_is_restored_and_how_long_that_takes(restored, text):
    assert restore_sentence(restored, "trial") == text


def test_an_interrupted_restore_leaves_no_driver_that_writes(driver, dataset, trials, home):
    (driver / "driver").write_text(f"#!/bin/sh\necho $$ > {driver}/pid\nexec sleep 600\n")

    def interrupt(_number, frame):
        has_begun = (driver / "pid").exists() and (driver / "pid").read_text()
        if not (has_begun and "wait" in {one.name for one in traceback.extract_stack(frame)}):  # it is still being started
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            return
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(KeyboardInterrupt):
            trials.take(dataset, driver / "first")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert not psutil.pid_exists(int((driver / "pid").read_text()))
    trials.keep(dataset, driver / "first")
    assert not trials.has(dataset)
