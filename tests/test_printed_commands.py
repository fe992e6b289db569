"""A command that dialin prints may be pasted into a shell, whatever characters a directory has in its name."""

import ast
import io
import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

import dialin
from dialin.cli.commands import OnDemand
from dialin.errors import UserError
from dialin.evidence.why_verdict import explain
from dialin.model.verdict import ReasonCode
from dialin.paths import Home
from dialin.report.render.terminal_summary import print_summary
from dialin.sentences import verdict_sentences
from dialin.sentences.notes import note_text
from dialin.sentences.result_notes import Inconclusive
from dialin.servers import builds
from dialin.text import command_line, how_to_resume
from dialin.verdict import study_diff
from fixtures import example_studies, stored_study

SOURCES = Path(dialin.__file__).parent
NAME = "my study's $dir"


@pytest.fixture
def place(tmp_path):
    (tmp_path / NAME).mkdir()
    return tmp_path / NAME


def words_of(text, start="dialin "):
    """Return the words that a shell makes of a command at the end of a sentence, or in backticks."""
    return shlex.split(text[text.index(start) :].partition("`")[0].removesuffix("."))


def test_a_shell_gets_the_words_that_were_meant(place):
    assert shlex.split(command_line("dialin report", place, "--full")) == ["dialin", "report", str(place), "--full"]
    assert shlex.split(how_to_resume(place, 90)) == ["dialin", "resume", str(place), "--minutes", "90"]
    assert how_to_resume("plain") == "dialin resume plain"


def test_sentences_of_a_study_name_its_directory_as_a_shell_takes_it(place):
    winner, weaker = (
        replace(record, directory=str(place)) for record in (example_studies.winner(), example_studies.weaker_durability())
    )
    resume = ["dialin", "resume", str(place)]
    assert words_of(verdict_sentences.reason(replace(winner, verdict=None))) == resume
    report = ["dialin", "report", str(place), "--accept-weaker-durability"]
    assert words_of(verdict_sentences.reason(weaker)) == report
    late = winner.verdict.model_copy(update={"reason_code": ReasonCode.GAIN_NOT_SHOWN, "reason_data": {"minutes": 90}})
    assert words_of(verdict_sentences.reason(replace(winner, verdict=late))) == [*resume, "--minutes", "90"]
    note = Inconclusive(seconds=600, budget=600, trials=8, detectable=0.1, trials_needed=40, minutes=70).stored()
    assert words_of(note_text(winner.spec, note, str(place)).partition(". Or ")[0]) == [*resume, "--minutes", "70"]


def test_a_summary_on_a_terminal_ends_with_a_command_for_the_shell(place):
    record, stream = replace(example_studies.winner(), directory=str(place)), io.StringIO()
    print_summary(record, Console(file=stream, width=300), explain(record))
    more = stream.getvalue().rpartition("More")[2]
    assert words_of(more.partition(" (4 more")[0]) == ["dialin", "report", str(place), "--full"]


def test_remedies_of_errors_name_files_as_a_shell_takes_them(place, tmp_path):
    record, home = replace(example_studies.winner(), directory=str(place)), Home(tmp_path)
    stored_study.keep(record, place)
    with pytest.raises(UserError) as error:
        stored_study.keep(record, place)
    assert words_of(error.value.remedy) == ["dialin", "resume", str(place)]
    with pytest.raises(UserError) as error:
        study_diff.compare_studies(replace(record, trials=[]), record)
    assert words_of(error.value.remedy) == ["dialin", "resume", str(place)]
    with pytest.raises(UserError) as error:
        builds.find(str(place), [], home)
    assert words_of(error.value.remedy) == ["dialin", "servers", "add", str(place)]


def commands_with_values(path):
    """Yield the f-strings of a module that put a value into the words of a command themselves."""
    value = re.compile(rf"(?:\bdialin (?:{'|'.join(OnDemand().commands)})\b|\b(?:chmod|chown|umount|rm|cp|mv)\s)[^\0`;.:,)]*\0")
    source = path.read_text(encoding="utf-8")
    if not re.search(r"\b(?:dialin[\s\"']|(?:chmod|chown|umount|rm|cp|mv)\b)", source):
        return  # to parse every module takes seconds
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.JoinedStr):
            text = "".join(str(part.value) if isinstance(part, ast.Constant) else "\0" for part in node.values)
            if value.search(text):
                yield f"{path.relative_to(SOURCES)}:{node.lineno}: {text!r}"


def test_no_module_puts_a_value_into_a_command_by_itself():
    assert [found for path in sorted(SOURCES.rglob("*.py")) for found in commands_with_values(path)] == []


def test_such_a_command_would_be_found(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SOURCES", tmp_path)
    lines = ['f"Resume it: dialin resume {d}"', 'f"or `chmod +x {d}`"', 'f"dialin resume, {d}"', 'f"dialin run A --out {d}"']
    (tmp_path / "module.py").write_text("\n".join(lines))
    assert [found.split(": ")[0] for found in commands_with_values(tmp_path / "module.py")] == [
        f"module.py:{n}" for n in (1, 2, 4)
    ]
