"""Data that a command of the user restores: a script that copies directories stands in for a volume with snapshots."""

import errno
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import KeptData, TrialData, forecast, restore_sentence
from dialin.errors import UserError
from dialin.model.cause import Fault
from dialin.model.place import Restore, RestoreWay
from dialin.servers.attached.user_command import CommandError
from dialin.servers.ledger import Ledger

SCRIPT = """#!/bin/sh
set -eu
volume=$1 phase=$2 name=$3 place=${4-}
echo "$phase $place" >>"$volume/calls"
if [ -e "$volume/fails-$phase" ]; then echo "no such pool" >&2; exit 3; fi
case $phase in
  take) cp -a "$place" "$volume/$name" ;;
  restore) cp -a "$volume/$name" "$volume/$name-trial"; ln -s "$volume/$name-trial" "$place" ;;
  remove) rm -rf "${place:-/nowhere}" "$volume/$name${place:+-trial}" ;;
esac
"""


@pytest.fixture
def volume(tmp_path):
    path = tmp_path / "volume"
    path.mkdir()
    (path / "snapshot.sh").write_text(SCRIPT)
    (path / "snapshot.sh").chmod(0o755)
    return path


@pytest.fixture
def dataset(home):
    directory = home.datasets / "key"
    (directory / "data" / "mysql").mkdir(parents=True)
    (directory / "data" / "ibdata1").write_text("pages")
    (directory / "data" / "auto.cnf").write_text("uuid")
    return StoredDataset("key", directory, 10**15)


@pytest.fixture
def ledger(home):
    home.sandboxes.mkdir(parents=True)
    return Ledger(home.ledger)


@pytest.fixture
def trials(home, ledger, clock, volume):
    return TrialData(home, ledger, clock, print, snapshot_command=f"{volume}/snapshot.sh {volume}")


def sandbox(ledger, home, name="trial"):
    """The directory of a trial's server, and what ends it."""
    entry = ledger.open(name, home.sandboxes / name)
    (home.sandboxes / name).mkdir()
    return home.sandboxes / name, lambda: ledger.end(entry)


def calls(volume):
    return (volume / "calls").read_text().split("\n")[:-1]


def left(volume):
    return sorted(path.name for path in volume.iterdir() if path.is_dir())


def test_each_trial_gets_the_data_as_it_was_taken_and_nothing_is_left_at_the_end(trials, ledger, home, dataset, volume):
    for name in ("one", "two"):
        directory, end = sandbox(ledger, home, name)
        trials.take(dataset, directory / "data")
        assert (directory / "data" / "ibdata1").read_text() == "pages"
        assert not (directory / "data" / "auto.cnf").exists(), "each server has an identity of its own"
        (directory / "data" / "ibdata1").write_text("changed")
        (directory / "data" / "new").write_text("row")
        trials.keep(dataset, directory / "data")
        end()
        assert not directory.exists()
    assert (dataset.data / "ibdata1").read_text() == "pages"
    trials.end()
    assert [call.split()[0] for call in calls(volume)] == ["take", "restore", "remove", "restore", "remove", "remove"]
    assert left(volume) == []
    assert list(home.sandboxes.iterdir()) == []


def test_the_studies_of_a_suite_share_what_was_taken(ledger, home, dataset, volume, clock):
    kept, command = KeptData(), f"{volume}/snapshot.sh {volume}"
    studies = [TrialData(home, ledger, clock, print, snapshot_command=command, kept=kept) for _ in range(2)]
    for study in studies:
        study.begin(dataset)
    for name, study in zip(("one", "two"), studies, strict=True):
        directory, end = sandbox(ledger, home, name)
        study.take(dataset, directory / "data")
        end()
        study.end()
    assert [call.split()[0] for call in calls(volume)] == ["take", "restore", "remove", "restore", "remove", "remove"]
    assert left(volume) == []


def test_no_room_is_asked_for_on_dialin_s_own_disk(trials, dataset):
    assert trials.has(dataset), "10^15 bytes would not fit"


@pytest.mark.parametrize("phase", ["take", "restore"])
def test_a_command_that_fails_is_to_blame_itself_and_what_it_may_have_made_is_removed(
    trials, ledger, home, dataset, volume, phase
):
    (volume / f"fails-{phase}").touch()
    directory, end = sandbox(ledger, home)
    with pytest.raises(CommandError) as failed:
        trials.take(dataset, directory / "data")
    assert failed.value.fault is Fault.REQUEST, "no candidate is to blame"
    assert "The snapshot command failed with exit code 3" in failed.value.what
    assert str(volume) not in failed.value.what.replace(f"{volume}/snapshot.sh", ""), "an argument may be a secret"
    assert failed.value.log_tail == "no such pool"
    end()
    trials.end()
    assert left(volume) == []
    assert list(home.sandboxes.iterdir()) == []


@pytest.mark.parametrize(
    ("restores", "says"),
    [
        ("true", "is not a directory"),
        ('mkdir "$place"', "ibdata1 is missing"),
        ('ln -s "$(cat "$volume/source")" "$place"', "ibdata1 is the prepared data itself"),
        ('cp -a "$volume/$name" "$place"; echo more >>"$place/ibdata1"', "ibdata1 has 10 bytes instead of 5"),
        ('cp -a "$volume/$name" "$place"; printf dirty >"$place/ibdata1"', "ibdata1 has other bytes"),
    ],
)
def test_a_command_that_restores_something_else_is_found_out_before_a_server_starts(
    trials, ledger, home, dataset, volume, restores, says
):
    script = volume / "snapshot.sh"
    (volume / "source").write_text(str(dataset.data))
    script.write_text(
        script.read_text()
        .replace('cp -a "$volume/$name" "$volume/$name-trial"; ', "")
        .replace('ln -s "$volume/$name-trial" "$place"', restores)
    )
    directory, end = sandbox(ledger, home)
    with pytest.raises(CommandError, match=says):
        trials.take(dataset, directory / "data")
    end()
    trials.end()
    assert (dataset.data / "ibdata1").read_text() == "pages"


KILLED = """
import os, sys, time
from pathlib import Path
from dialin.clock import SystemClock
from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import TrialData
from dialin.paths import Home
from dialin.servers.ledger import Ledger
home, volume = Home(Path(sys.argv[1])), sys.argv[2]
ledger = Ledger(home.ledger)
data = TrialData(home, ledger, SystemClock(), str, snapshot_command=f"{volume}/snapshot.sh {volume}")
ledger.open("trial", home.sandboxes / "trial")
(home.sandboxes / "trial").mkdir()
data.take(StoredDataset("key", home.datasets / "key", 1), home.sandboxes / "trial" / "data")
print("taken", flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("slow", [False, True], ids=["between calls", "within a call"])
def test_what_a_killed_dialin_had_taken_and_restored_is_removed_by_the_next(ledger, home, dataset, volume, slow):
    if slow:
        script = volume / "snapshot.sh"
        script.write_text(script.read_text().replace("  restore) ", '  restore) touch "$volume/began"; sleep 60; '))
    words = [sys.executable, "-c", KILLED, str(home.root), str(volume)]
    killed = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    if slow:
        while not (volume / "began").exists():
            time.sleep(0.02)
    else:
        assert killed.stdout.readline() == "taken\n"
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert left(volume) != []
    said = []
    (volume / "fails-remove").touch()
    assert ledger.end_orphans(said.append) == []
    assert len(said) == 2
    assert "The snapshot command failed" in said[0]
    (volume / "fails-remove").unlink()
    assert len(ledger.end_orphans(said.append)) == 2
    assert left(volume) == []
    assert list(home.sandboxes.iterdir()) == []
    assert not list(home.ledger.glob("*.json"))


def test_where_the_record_of_what_was_made_cannot_be_read_nothing_is_removed(ledger, home):
    directory, _ = sandbox(ledger, home)
    (directory / "at-end.json").write_text("cut o")
    ledger._locks.release("trial")
    said = []
    assert ledger.end_orphans(said.append) == []
    assert f"{directory / 'at-end.json'} cannot be read" in said[0]
    assert directory.exists()
    (directory / "at-end.json").unlink()
    assert len(ledger.end_orphans(said.append)) == 1
    assert not directory.exists()


def test_what_a_killed_dialin_had_restored_is_removed_before_what_it_was_made_from(trials, ledger, home, dataset, volume):
    directory, _ = sandbox(ledger, home, "ffffffff")
    trials.take(dataset, directory / "data")
    for entry in ledger.entries():
        ledger._locks.release(entry.id)
    ledger.end_orphans()
    assert calls(volume)[-2:] == [f"remove {directory / 'data'}", "remove "]


def test_the_command_of_a_trial_is_kept_where_only_its_owner_reads_it(trials, home, dataset, ledger):
    directory, end = sandbox(ledger, home)
    directory.chmod(0o700)
    trials.take(dataset, directory / "data")
    kept = list(home.root.rglob("at-end.json"))
    assert len(kept) == 2
    assert all(path.parent.stat().st_mode & 0o077 == 0 for path in kept)
    assert all("snapshot.sh" in json.loads(path.read_text())[0]["command"] for path in kept)
    assert not any("snapshot.sh" in path.read_text() for path in home.ledger.iterdir())
    end()
    trials.end()


def test_the_plan_says_that_a_command_restores_and_once_it_was_measured_how_long_that_takes(
    trials, home, clock, ledger, dataset, monkeypatch
):
    unmeasured = forecast(home, clock, dataset, 10**9, RestoreWay.SNAPSHOT)
    assert unmeasured == Restore(way=RestoreWay.SNAPSHOT, seconds=0)
    told = "Data is restored before each trial: your snapshot command"
    assert restore_sentence(unmeasured, "trial") == f"{told} (not measured yet)"
    directory, end = sandbox(ledger, home)
    ends = iter([0.0, 2.5])
    monkeypatch.setattr(trials._clock, "monotonic", lambda: next(ends))
    trials.take(dataset, directory / "data")
    monkeypatch.undo()
    end()
    trials.end()
    measured = forecast(home, clock, dataset, 10**9, RestoreWay.SNAPSHOT)
    assert measured == Restore(way=RestoreWay.SNAPSHOT, seconds=2.5, measured=True)
    assert restore_sentence(measured, "trial") == f"{told}, about 2.5 s (as measured here)"


@pytest.mark.parametrize("command", ["", "'unclosed", "/nowhere/snapshot.sh"])
def test_a_command_that_cannot_be_run_is_the_user_s_error(home, ledger, clock, dataset, command):
    trials = TrialData(home, ledger, clock, print, snapshot_command=command)
    directory, end = sandbox(ledger, home)
    with pytest.raises(UserError, match="The snapshot command"):
        trials.take(dataset, directory / "data")
    assert (dataset.data / "ibdata1").exists()
    end()
    trials.end()
    assert list(home.sandboxes.iterdir()) == [], "there is nothing that such a command would have to remove"


def test_a_command_that_another_user_recorded_in_a_shared_cache_is_not_run(trials, ledger, home, dataset, volume, give_away):
    directory, _ = sandbox(ledger, home)
    trials.take(dataset, directory / "data")
    for entry in ledger.entries():
        ledger._locks.release(entry.id)
    called, owner = calls(volume), give_away(directory / "at-end.json")
    said = []
    Ledger(home.ledger).end_orphans(said.append)
    assert f"{directory / 'at-end.json'} cannot be read: it belongs to the user {owner}" in said[-1]
    assert "no command in it was run" in said[-1]
    assert [call for call in calls(volume)[len(called) :] if "data" in call] == []
    assert directory.exists()


@pytest.mark.parametrize(
    ("removes", "says"), [("true", "is still there"), ('rm "$place"; mkdir "$place"; touch "$place/row"', "is still there")]
)
def test_a_remove_that_leaves_the_data_of_a_trial_is_found_out(trials, ledger, home, dataset, volume, removes, says):
    script = volume / "snapshot.sh"
    removed = f'remove) [ -z "$place" ] || {{ {removes}; }}; rm -rf'
    script.write_text(script.read_text().replace('remove) rm -rf "${place:-/nowhere}"', removed))
    directory, end = sandbox(ledger, home)
    trials.take(dataset, directory / "data")
    with pytest.raises(CommandError, match=says) as failed:
        end()
    assert failed.value.fault is Fault.REQUEST
    assert os.path.lexists(directory / "data"), "the next dialin asks the command again"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount")
def test_a_remove_that_leaves_its_file_system_mounted_is_found_out_and_no_file_of_it_is_removed(
    trials, ledger, home, dataset, volume
):
    script, mount = volume / "snapshot.sh", 'mkdir "$place"; mount --bind "$volume/$name-trial" "$place"'
    text = script.read_text().replace('ln -s "$volume/$name-trial" "$place"', mount)
    script.write_text(text.replace('remove) rm -rf "${place:-/nowhere}"', "remove) exit 0; rm -rf"))
    directory, end = sandbox(ledger, home)
    try:
        trials.take(dataset, directory / "data")
    except CommandError as error:
        pytest.skip(f"nothing can be mounted here: {error.log_tail}")
    try:
        with pytest.raises(CommandError, match=r"data is still mounted\. Let `remove` unmount"):
            end()
        assert (directory / "data" / "ibdata1").exists()
    finally:
        subprocess.run(["umount", directory / "data"], check=True)
    end()
    assert not directory.exists()


def test_on_a_full_disk_what_a_snapshot_command_has_made_is_removed_nevertheless(
    trials, ledger, home, dataset, volume, monkeypatch
):
    directory, end = sandbox(ledger, home)
    trials.take(dataset, directory / "data")

    def full(*_arguments, **_words):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("dialin.servers.ledger.replace_text", full)
    end()
    trials.end()
    assert left(volume) == []
    assert list(home.sandboxes.iterdir()) == []
