from collections.abc import Callable

import pytest

from dialin.cli import first_questions
from dialin.cli.first_questions import FIND_OUT, Choices, ask_for_commands
from dialin.errors import ServerError
from fixtures.real_catalogues import real_catalogue

KNOWN = real_catalogue("mysql@9.7.4")


def answering(*answers: str) -> tuple[Callable[[str, str], str], list[str]]:
    """Return what gives these answers one after the other, an empty one for the default, and the questions so far."""
    left, asked = list(answers), []

    def ask(question: str, default: str) -> str:
        asked.append(question)
        return left.pop(0) or default

    return ask, asked


def command(*answers: str, builds: tuple[str, ...] = ("mysql@9.7.4", "mariadb@10.11.19")) -> str:
    ask, asked = answering(*answers)
    commands = ask_for_commands(Choices(builds, lambda _: KNOWN), ask)
    assert len(asked) == len(answers)
    return "; ".join(map(" ".join, commands))


@pytest.mark.parametrize(
    ("answers", "shown"),
    [
        (("", "", ""), "dialin advise --server mysql@9.7.4 --workload oltp_read_write"),
        (("2", "3", FIND_OUT), "dialin advise --server mariadb@10.11.19 --workload oltp_write_only"),
        (("1", "", "innodb_adaptive_hash_index"),
         "dialin tune innodb_adaptive_hash_index --server mysql@9.7.4 --workload oltp_read_write"),
        (("mysql@9.7", "2", "innodb_io_capacity=200..2000"),
         "dialin tune innodb_io_capacity=200..2000 --server mysql@9.7 --workload oltp_read_only"),
        (("mysql", "", ""), "dialin advise --server mysql --workload oltp_read_write"),
        (("1", "oltp_insert", "innodb-io-capacity=200, 2000"),
         "dialin sweep innodb_io_capacity=200,2000 --server mysql@9.7.4 --workload oltp_insert"),
    ],
)  # fmt: skip
def test_three_answers_make_a_command(answers, shown):
    assert command(*answers) == shown


def test_an_unusable_answer_is_asked_for_again(capsys):
    shown = command("9", "oracle", "1", "oltp_read_wrte", "", "innodb_io_capacty", "innodb_io_capacity=", "innodb_io_capacity")
    assert shown == "dialin tune innodb_io_capacity --server mysql@9.7.4 --workload oltp_read_write"
    said = capsys.readouterr().err
    assert "numbers 1 to 3" in said
    assert "did you mean oltp_read_write?" in said
    assert "has no variable innodb_io_capacty" in said
    assert "Did you mean" in said


@pytest.mark.parametrize(
    ("answer", "refused"),
    [
        ("innodb_io_capacity=5", "has only one value"),
        ("innodb_io_capacity=200,200", "the same value twice"),
        ("innodb_io_capacity=1,200", "must be 100 to"),
        ("innodb_flush_method=fsync,never", "must be one of"),
        ("innodb_io_capacity=9..1", "is not a range"),
        ("innodb_flush_method=1..3", "takes words, not a range"),
        ("innodb_flush_log_at_trx_commit=0..2", "weakens durability"),
        ("port", "cannot be tuned"),
        ("query_cache_type", "has no variable query_cache_type"),
    ],
)
def test_an_answer_that_the_printed_command_would_refuse_is_refused_at_once(answer, refused, capsys):
    shown = command("", "", answer, "innodb_io_capacity")
    assert shown == "dialin tune innodb_io_capacity --server mysql@9.7.4 --workload oltp_read_write"
    assert refused in capsys.readouterr().err


def test_a_running_server_needs_its_option_file(tmp_path, capsys):
    account = tmp_path / "account.cnf"
    account.write_text("[client]\n")
    shown = command("3", str(tmp_path / "no.cnf"), "3", str(account), "", "innodb_io_capacity")
    assert shown == f"dialin tune innodb_io_capacity --attach --defaults-file {account} --workload oltp_read_write"
    assert "There is no file" in capsys.readouterr().err


def test_a_server_that_does_not_answer_is_asked_for_again(tmp_path, capsys):
    account = tmp_path / "account.cnf"
    account.write_text("[client]\n")

    def catalogue(server):
        if server[0] == "--attach":
            raise ServerError("The server does not answer", "Start it")
        return KNOWN

    ask, _ = answering(str(account), "1", "", "")
    commands = ask_for_commands(Choices(("mysql@9.7.4",), catalogue), ask)
    assert commands == [["dialin", "advise", "--server", "mysql@9.7.4", "--workload", "oltp_read_write"]]
    assert "does not answer" in capsys.readouterr().err


def test_files_must_be_there(tmp_path, capsys):
    (tmp_path / "my.cnf").write_text("[client]\n")
    there = str(tmp_path / "my.cnf")
    shown = command(str(tmp_path / "no.cnf"), there, "./none.toml", "", "")
    assert shown == f"dialin advise --attach --defaults-file {there} --workload oltp_read_write"
    assert capsys.readouterr().err.count("There is no file") == 2


@pytest.mark.parametrize(
    ("answer", "builds", "build"),
    [("", (), "mysql@9.7"), ("mysql@8.0", ("mysql@8.1.0",), "mysql@8.0"), ("mariadb", ("mysql@9.7.4",), "mariadb")],
)
def test_a_build_that_is_not_on_this_machine_is_installed_first(answer, builds, build):
    shown = f"dialin servers install {build}; dialin advise --server {build} --workload oltp_read_write"
    assert command(answer, "", "", builds=builds) == shown


def test_on_a_terminal_dialin_alone_asks_and_shows_the_command(dialin, monkeypatch):
    monkeypatch.setattr(first_questions, "is_terminal", lambda: True)
    monkeypatch.setattr(first_questions, "choices_here", lambda: Choices(("mysql@9.7.4",), lambda _: KNOWN))
    monkeypatch.setattr(first_questions, "_prompt", lambda _question, default: default)
    code, out, err = dialin()
    assert code == 0
    assert out.strip() == "dialin advise --server mysql@9.7.4 --workload oltp_read_write"
    assert "dialin advise --help" in err


def test_nothing_is_asked_where_no_terminal_is(dialin):
    code, out, _ = dialin()
    assert code == 0
    assert "Usage: dialin" in out
