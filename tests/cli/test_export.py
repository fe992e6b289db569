"""`dialin export`: a study's directory in, every second of it out."""

import csv
import io

import polars as pl
import pytest

from dialin.frames import columns
from fixtures import example_studies, stored_study


@pytest.fixture
def study(tmp_path):
    directory = tmp_path / "study"
    directory.mkdir()
    stored_study.keep(example_studies.inconclusive(), directory)
    return directory


def test_parquet_stands_beside_the_study_and_how_many_seconds_is_reported(dialin, study):
    code, out, err = dialin("export", str(study))
    assert (code, out) == (0, "")
    assert err.startswith("240 seconds: ")
    assert pl.read_parquet(study / "samples.parquet").height == 240
    assert sorted(path.name for path in study.iterdir()) == ["samples.parquet", "study.db"]


def test_csv_where_it_is_asked_for(dialin, study):
    assert dialin("export", str(study), "--format", "csv")[0] == 0
    assert (study / "samples.csv").read_text().splitlines()[0] == ",".join(columns.SAMPLES)


@pytest.mark.parametrize(("name", "is_csv"), [("a.csv", True), ("a.CSV", True), ("a.parquet", False), ("a.dat", False)])
def test_a_file_s_name_tells_the_format_where_nobody_does(dialin, study, name, is_csv):
    assert dialin("export", str(study), "--out", name)[0] == 0
    assert ((study.parent / name).read_bytes()[:4] == b"PAR1") is not is_csv


def test_the_format_that_is_asked_for_goes_before_the_name(dialin, study):
    assert dialin("export", str(study), "--out", "a.csv", "--format", "parquet")[0] == 0
    assert (study.parent / "a.csv").read_bytes()[:4] == b"PAR1"


def test_a_file_that_is_there_is_replaced(dialin, study, tmp_path):
    (tmp_path / "a.csv").write_text("old")
    assert dialin("export", str(study), "--out", "a.csv")[0] == 0
    assert (tmp_path / "a.csv").read_text().startswith("candidate,")


def test_csv_can_be_printed_alone(study, monkeypatch, tmp_path, capfdbinary):
    import sys

    from dialin.cli import app

    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(sys, "argv", ["dialin", "export", str(study), "--out", "-"])
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.FileIO(1, "w", closefd=False)))
    with pytest.raises(SystemExit) as ended:
        app.main()
    rows = list(csv.reader(io.StringIO(capfdbinary.readouterr().out.decode())))
    assert ended.value.code == 0
    assert len(rows) == 241


OWN = [
    *("study.db", "study.db-wal", "study.db-shm", "study.db-journal", "study.lock", "stop-after-block"),
    *("evidence/trial-1.parquet", "waits/trial-1.parquet"),
]


@pytest.mark.parametrize("name", OWN)
@pytest.mark.parametrize("is_there", [False, True])
def test_no_file_of_the_study_is_replaced_or_made(dialin, study, name, is_there):
    path = study / name
    path.parent.mkdir(exist_ok=True)
    if is_there and not path.exists():
        path.touch()
    before = path.read_bytes() if path.exists() else None
    (study.parent / "link").symlink_to(study)
    for out in (f"study/{name}", f"study/../link/{name}"):
        code, _, err = dialin("export", "study", "--out", out)
        assert code == 2
        assert "belongs to the study itself" in err
    assert (path.read_bytes() if path.exists() else None) == before


@pytest.mark.parametrize("name", ["my.cnf", "report.html", "samples", "a.csv.gz"])
def test_only_what_is_named_as_samples_are_is_replaced(dialin, study, name):
    (study / name).write_text("precious")
    code, _, err = dialin("export", "study", "--out", f"study/{name}", "--format", "csv")
    assert code == 2
    assert "ends in neither .csv nor .parquet" in err
    assert (study / name).read_text() == "precious"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["."], "holds no dialin study"),
        (["study", "--format", "xlsx"], "--format"),
        (["study", "--out", "-", "--format", "parquet"], "Parquet cannot be written to standard output"),
        (["study", "--out", "study"], "is a directory"),
        (["study", "--out", "gone/a.csv"], "cannot be written: No such file or directory"),
    ],
)
def test_misuse_is_one_line_with_its_remedy(dialin, study, words, says):
    code, out, err = dialin("export", *words)
    assert (code, out) == (2, "")
    assert says in err
    assert err.count("\n") == 1
