"""The ready commands that restore data by snapshots, against stubs of the programs that they call, which record their calls."""

import os
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples" / "snapshot"
NAME = "0123456789abcdef-01234567"

STUB = """#!/bin/sh
name=$(basename "$0")
echo "$name $*" >>{here}/calls
case "$name $1" in
  "zfs get") echo {here}/mounted ;;
  "zfs clone") mkdir "$(echo "$3" | sed s/mountpoint=//)" ;;
  "umount "*) find "$1" -mindepth 1 -delete ;;
esac
case "$name $2" in
  "btrfs create") mkdir "$3" ;;
  "btrfs snapshot") cp -a "$3" "$4" ;;
  "btrfs delete") rm -r "$3" ;;
esac
"""
WORDS = {"btrfs.sh": ["{here}/mounted"], "zfs.sh": ["tank/dialin"], "lvm-thin.sh": ["vg", "pool", "20G"]}
CALLS = {
    "btrfs.sh": [
        "btrfs subvolume create {here}/mounted/NAME",
        "btrfs subvolume snapshot {here}/mounted/NAME {here}/mounted/NAME-trial",
        "btrfs subvolume delete {here}/mounted/NAME-trial",
        "btrfs subvolume delete {here}/mounted/NAME",
    ],
    "zfs.sh": [
        "zfs create tank/dialin/NAME",
        "zfs get -H -o value mountpoint tank/dialin/NAME",
        "zfs snapshot tank/dialin/NAME@taken",
        "zfs clone -o mountpoint={here}/data tank/dialin/NAME@taken tank/dialin/NAME-trial",
        "zfs list -H -o name tank/dialin/NAME-trial",
        "zfs destroy -r -f tank/dialin/NAME-trial",
        "zfs list -H -o name tank/dialin/NAME",
        "zfs destroy -r -f tank/dialin/NAME",
    ],
    "lvm-thin.sh": [
        "lvcreate --thin --virtualsize 20G --name NAME vg/pool",
        "mkfs.ext4 -q /dev/vg/NAME",
        "mount /dev/vg/NAME {here}/mounted",
        "umount {here}/mounted",
        "lvcreate --snapshot --setactivationskip n --name NAME-trial vg/NAME",
        "mount /dev/vg/NAME-trial {here}/data",
        "mountpoint -q {here}/data",
        "umount {here}/data",
        "lvs vg/NAME-trial",
        "lvremove --yes vg/NAME-trial",
        "lvs vg/NAME",
        "lvremove --yes vg/NAME",
    ],
}


@pytest.mark.parametrize("script", sorted(CALLS))
def test_a_ready_command_takes_restores_and_removes(tmp_path, script):
    (tmp_path / "bin").mkdir()
    (tmp_path / "mounted").mkdir()
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "ibdata1").write_text("pages")
    for program in ("btrfs", "zfs", "lvcreate", "lvremove", "lvs", "mkfs.ext4", "mount", "umount", "mountpoint"):
        (tmp_path / "bin" / program).write_text(STUB.format(here=tmp_path))
        (tmp_path / "bin" / program).chmod(0o755)
    (tmp_path / "bin" / "mktemp").write_text(f"#!/bin/sh\necho {tmp_path}/mounted\n")
    (tmp_path / "bin" / "mktemp").chmod(0o755)
    words = [word.format(here=tmp_path) for word in WORDS[script]]
    place = tmp_path / "data"
    for phase in (["take", NAME, tmp_path / "source"], ["restore", NAME, place], ["remove", NAME, place], ["remove", NAME]):
        environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run([EXAMPLES / script, *words, *phase], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        if phase[0] == "take":
            assert [path.read_text() for path in tmp_path.glob("mounted/**/ibdata1")] in (["pages"], []), "lvm has unmounted it"
        assert place.exists() == (phase[0] == "restore")
    made = [line.replace(NAME, "NAME") for line in (tmp_path / "calls").read_text().splitlines()]
    assert made == [call.format(here=tmp_path) for call in CALLS[script]]
