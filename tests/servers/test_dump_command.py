"""The command for an exact dump has an option that the program on this machine has, and that the server understands."""

import pytest

from dialin.servers.sandbox_client import dump_command

MYSQL = "  --source-data[=#]   This causes the binary log position\n  --master-data[=#]   Deprecated\n"
OLDER = "  --master-data[=#]   This causes the binary log position\n"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program on the path, alone, that prints this help."""

    def install(name, text):
        (tmp_path / "help").write_text(text)
        path = tmp_path / "bin" / name
        path.parent.mkdir()
        path.write_text(f"#!/bin/sh\n/bin/cat {tmp_path}/help\n")
        path.chmod(0o755)
        monkeypatch.setenv("PATH", str(path.parent))

    return install


@pytest.mark.parametrize(
    ("name", "text", "server", "options"),
    [
        ("mysqldump", MYSQL, "9.7.4", "mysqldump --single-transaction --source-data"),
        ("mysqldump", OLDER, "8.0.33", "mysqldump --single-transaction --master-data"),
        ("mysqldump", OLDER, "5.6.24-log", "mysqldump --single-transaction --master-data"),
        ("mysqldump", OLDER, "9.7.4", "mysqldump --lock-all-tables"),
        ("mariadb-dump", OLDER, "8.4.0", "mariadb-dump --lock-all-tables"),
        ("mariadb-dump", OLDER, "10.11.19-MariaDB-log", "mariadb-dump --single-transaction --master-data"),
        ("mariadb-dump", OLDER, None, "mariadb-dump --single-transaction --master-data"),
    ],
)
def test_the_option_is_one_that_the_program_has_and_the_server_understands(program, name, text, server, options):
    program(name, text)
    assert dump_command(server) == options


def test_without_a_program_both_options_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert {"--source-data", "--master-data"} <= set(dump_command("9.7.4").replace("(", "").split())
