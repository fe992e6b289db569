from __future__ import annotations

from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.servers.install.clients import Arrival, Clients, directory_megabytes, error_line, missing


def test_the_output_of_a_client_is_returned():
    assert Clients(print).run(["sh", "-c", "echo out; echo err >&2; echo $LC_ALL"]) == "out\nerr\nC\n"


def test_a_client_that_fails_is_reported_in_its_own_telling_line():
    script = "echo Reading; echo 'E: Unable to locate package nothing'; echo 'W: more words'; exit 100"
    with pytest.raises(UserError, match="sh failed: E: Unable to locate package nothing"):
        Clients(print).run(["sh", "-c", script])


def test_a_missing_client_is_reported_with_what_brings_it():
    with pytest.raises(UserError, match="dialin-no-such-client is not on this machine"):
        Clients(print).run(["dialin-no-such-client"])
    assert missing("mvn").remedy == "as root: apt-get install maven"


def test_how_much_has_arrived_is_reported_while_a_client_works(tmp_path: Path):
    (tmp_path / "before").write_bytes(b"x" * 7_000_000)
    said: list[str] = []
    clients = Clients(said.append, interval=0.02)
    script = f"head -c 3000000 /dev/zero > {tmp_path}/part; until [ -e {tmp_path}/enough ]; do :; done"

    def say(line: str) -> None:
        said.append(line)
        if line == "  3 of 50 MB":
            (tmp_path / "enough").touch()

    clients = Clients(say, interval=0.02)
    clients.run(["sh", "-c", script], arrival=Arrival(tmp_path, 50.0))
    assert said[-1] == "  3 of 50 MB"


@pytest.mark.parametrize(
    ("output", "line"),
    [
        ("", "it printed nothing"),
        ("one\ntwo\n\n", "two"),
        ("[INFO] x\n[ERROR] Failed to execute goal\n[ERROR] -> [Help 1]", "[ERROR] Failed to execute goal"),
        (
            "npm warn x\nnpm error code ETARGET\nnpm error notarget No matching version\nnpm error A log",
            "npm error notarget No matching version",
        ),
        ("Err:1 https://me:secret@deb.example.org/debian sid InRelease", "Err:1 https://deb.example.org/debian sid InRelease"),
    ],
)
def test_the_telling_line_is_the_first_that_names_an_error_and_shows_no_secret(output: str, line: str):
    assert error_line(output) == line


def test_a_directory_that_is_not_there_holds_nothing(tmp_path: Path):
    assert directory_megabytes(tmp_path / "none") == 0
