import dataclasses
import json

import pytest

from dialin.cli import conduct, run_recipe
from dialin.cli.study_flags import How
from dialin.errors import DialinError, ExitCode, UserError
from dialin.model.record import Look
from dialin.recipes import execution, library
from dialin.recipes.library import ScaleName
from dialin.store.store import Store
from dialin.text import about
from fixtures import example_studies

NAME = "read-buffer-size"


def test_all_recipes_are_listed_with_their_source_and_minutes(dialin):
    code, out, _ = dialin("recipes")
    assert code == 0
    for name in library.names():
        recipe = library.find(name)
        assert name in out
        assert recipe.source.date in out
        assert f"laptop {about(60 * recipe.scales[ScaleName.LAPTOP].minutes)}" in out


@pytest.mark.parametrize("name", [NAME, f"recipe:{NAME}"])
def test_one_recipe_is_shown_in_full(dialin, name):
    code, out, _ = dialin("recipes", name)
    assert code == 0
    assert library.find(NAME).source.address in out
    assert f"dialin run recipe:{NAME}" in out
    assert "67.2" in out, "published figures are shown"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["recipes", "read-bufer-size"], "Did you mean 'read-buffer-size'?"),
        (["run", "recipe:nothing"], "There is no recipe 'nothing'"),
        (["run", "none.toml", "--scale", "laptop"], "--scale is for recipes"),
        (["run", f"recipe:{NAME}", "--scale", "moon"], "--scale"),
        (["run", f"recipe:{NAME}", "--i-know-it-is-live"], "--i-know-it-is-live is for a server that dialin is attached to"),
    ],
)
def test_misuse_is_one_line_and_nothing_is_left_behind(dialin, words, says, tmp_path):
    code, out, err = dialin(*words)
    assert code == 2, err
    assert says in err
    assert out == ""
    assert list(tmp_path.glob("dialin-*")) == []


def test_a_build_that_is_not_there_is_reported_with_its_study_before_any_study_begins(dialin, monkeypatch, tmp_path):
    def missing(*_):
        raise UserError("mysql@5.6 is not on this machine", "Install it: dialin servers install mysql@5.6")

    monkeypatch.setattr(execution, "check_question", missing)
    code, _, err = dialin("run", f"recipe:{NAME}", "--out", "there")
    assert code == 2
    assert "myisam-cold: mysql@5.6 is not on this machine" in err
    assert "dialin servers install mysql@5.6" in err
    assert not (tmp_path / "there").exists()


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """Studies that are checked and run without a server: each run leaves the record of an invented study."""
    ran = []

    def begin(ready, directory, _tools, _watcher, command, *_, **__):
        ran.append(("begin", directory.name, command))
        keep(directory)

    def resume(_ready, directory, *_, **__):
        ran.append(("resume", directory.name, ""))

    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(execution, "check_question", lambda *_: None)
    monkeypatch.setattr(execution, "check_resume", lambda *_, **__: None)
    monkeypatch.setattr(execution, "begin", begin)
    monkeypatch.setattr(execution, "resume", resume)
    monkeypatch.setattr(execution, "finished", lambda ended: ended)
    monkeypatch.setattr(execution, "asks", lambda *_: True)
    monkeypatch.setattr(conduct, "announce", lambda *_: None)
    return ran


def keep(directory):
    record = example_studies.winner()
    directory.mkdir(parents=True)
    with Store.create(
        directory, record.spec, created=record.created, dialin_version="1", command="", host=record.host, servers=record.servers
    ) as store:
        look = Look(1, blocks=record.verdict.blocks)
        store.add_look(look)
        store.save_verdict_of(look, record.verdict, decided=True)


def run(out, *, as_json=False):
    return run_recipe.run_recipe(NAME, ScaleName.LAPTOP, How(out=out, json=as_json, yes=True))


def test_each_study_runs_in_a_directory_of_its_own_and_ends_with_a_line(quick, tmp_path, capsys):
    assert run(tmp_path / "out") is ExitCode.VERDICT
    captured = capsys.readouterr()
    assert [(what, name) for what, name, _ in quick] == [("begin", study.name) for study in library.find(NAME).study]
    assert f"Study 2 of {len(library.find(NAME).study)}:" in captured.err
    assert "\nmyisam-warm: " in captured.out
    assert all(command.endswith(f"--scale laptop --out {tmp_path / 'out'}") for _, _, command in quick)


def test_run_again_goes_on_with_what_is_there(quick, tmp_path):
    keep(tmp_path / "out" / "myisam-cold")
    run(tmp_path / "out")
    assert [what for what, _, _ in quick] == ["resume", *["begin"] * (len(library.find(NAME).study) - 1)]


def test_json_is_a_list_with_each_studys_verdict_alone(quick, tmp_path, capsys):
    run(tmp_path / "out", as_json=True)
    reported = json.loads(capsys.readouterr().out)
    assert [one["study"] for one in reported] == [study.name for study in library.find(NAME).study]
    assert {one["verdict"]["verdict"] for one in reported} == {"winner"}


def test_json_of_a_hostile_study_does_not_act_on_a_terminal(quick, tmp_path, monkeypatch, capsys):
    headline = "a\x1b[2Jb\x7fc\u202ed\x9be"
    record = example_studies.winner()
    verdict = record.verdict.model_copy(update={"headline": headline})
    monkeypatch.setattr(example_studies, "winner", lambda: dataclasses.replace(record, verdict=verdict))
    run(tmp_path / "out", as_json=True)
    out = capsys.readouterr().out
    assert all(" " <= character <= "~" or character == "\n" for character in out)
    assert {one["verdict"]["headline"] for one in json.loads(out)} == {headline}


@pytest.mark.parametrize("as_json", [True, False])
def test_all_verdicts_are_printed_before_any_report_is_written(quick, tmp_path, monkeypatch, capsys, as_json):
    def full(*_):
        raise UserError("No space left on device", "Make room")

    monkeypatch.setattr(run_recipe.files, "write_all", full)
    with pytest.raises(UserError, match="No space left"):
        run(tmp_path / "out", as_json=as_json)
    out = capsys.readouterr().out
    assert all(study.name in out for study in library.find(NAME).study)


def test_a_directory_named_dir_is_named_as_it_is_in_the_command_that_goes_on(quick, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise DialinError("The disk is full", "Make room", resumable=True)

    monkeypatch.setattr(execution, "begin", broken)
    monkeypatch.setattr(conduct, "_is_study", lambda _: True)
    out = tmp_path / "MY DIR"
    with pytest.raises(DialinError) as failed:
        run(out)
    assert failed.value.remedy.endswith(f"--scale laptop --out '{out}'")


def test_a_directory_that_holds_something_else_is_not_written_to(quick, tmp_path):
    (tmp_path / "out" / "myisam-cold").mkdir(parents=True)
    (tmp_path / "out" / "myisam-cold" / "letter.txt").write_text("dear")
    with pytest.raises(UserError, match="not empty"):
        run(tmp_path / "out")
    assert quick == []


def test_a_study_of_another_scale_is_not_gone_on_with(quick, tmp_path, monkeypatch):
    monkeypatch.setattr(execution, "asks", lambda *_: False)
    keep(tmp_path / "out" / "myisam-cold")
    with pytest.raises(UserError, match="another scale"):
        run(tmp_path / "out")


def test_a_restart_command_has_no_meaning_for_a_recipe(tmp_path):
    with pytest.raises(UserError, match="--restart-command"):
        run_recipe.run_recipe(NAME, ScaleName.LAPTOP, How(restart_command="x", out=tmp_path, yes=True))
