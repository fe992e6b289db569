import polars as pl
import pytest

from dialin.errors import MachineError
from dialin.model.evidence import Gauge, PointColumns, ProbeNote, ProbeNoteCode, Watched
from dialin.model.trial import Trial, TrialState
from dialin.store import series
from dialin.store.store import Store
from fixtures.recorded import begun

NAMES = (("status", "Questions"), ("status", "Threads_running"), ("machine", "run_queue"))
POINTS = PointColumns(NAMES, (1.5, 1.5, 1.75, 2.5), (0, 1, 2, 0), (20.25, 3.0, 0.0, 1e12))
ROWS = [
    (1.5, "status", "Questions", 20.25),
    (1.5, "status", "Threads_running", 3.0),
    (1.75, "machine", "run_queue", 0.0),
    (2.5, "status", "Questions", 1e12),
]
WATCHED = Watched(
    probe="status",
    seconds=10.5,
    counters={"Questions": 200.0, "Com_commit": 0.0},
    gauges={"Threads_running": Gauge(1.0, 2.0, 0.0, 9.0, 3.5)},
    notes=(ProbeNote(ProbeNoteCode.ABSENT, {"source": "InnoDB"}),),
    readings=11,
    waited=0.25,
    cpu=0.125,
)


@pytest.fixture
def store(tmp_path, spec):
    with Store.create(tmp_path, spec, created=1.0, dialin_version="0", command="", host={}, servers={}) as made:
        begun(made, Trial(0, 1, 1, 1, "4", TrialState.RUNNING, 5.0))
        yield made


def read(path):
    frame = pl.read_parquet(path)
    return [(at, str(probe), str(name), value) for at, probe, name, value in frame.iter_rows()]


def test_points_are_read_back_in_their_order(tmp_path):
    path = tmp_path / "evidence" / series.file_name(7)
    series.write(path, POINTS)
    assert read(path) == ROWS
    assert [each.name for each in path.parent.iterdir()] == ["trial-7.parquet"], "nothing half made is left"


def test_without_points_there_is_no_file(tmp_path):
    path = tmp_path / "evidence" / series.file_name(7)
    series.write(path, PointColumns())
    assert not path.parent.exists()


def test_readings_of_probes_are_read_back(store):
    store.save_watched(1, [WATCHED, Watched("machine", 1.0)], POINTS)
    assert store.watched() == {1: {"status": WATCHED, "machine": Watched("machine", 1.0)}}
    assert store.read().watched == store.watched()
    assert read(store.directory_of_series / "trial-1.parquet") == ROWS


def test_a_series_saved_again_takes_the_place_of_the_first(store):
    store.save_watched(1, [Watched("status", 1.0)], PointColumns(NAMES, (1.5,), (0,), (20.25,)))
    store.save_watched(1, [WATCHED], POINTS)
    assert store.watched() == {1: {"status": WATCHED}}
    assert read(store.directory_of_series / "trial-1.parquet") == ROWS


def test_a_file_that_cannot_be_written_says_how_to_go_on(store):
    store.directory_of_series.write_text("in the way")
    with pytest.raises(MachineError, match="has space") as raised:
        store.save_watched(1, [], POINTS)
    assert raised.value.resumable, "the command that resumes it is added where it is shown"


def test_only_the_figures_that_are_requested_are_read_over_time(store):
    store.save_watched(1, [WATCHED], POINTS)
    wanted = {("status", "Questions"), ("machine", "run_queue"), ("status", "No_such_variable")}
    points = store.read(readings=wanted).over_time
    assert list(points) == [1]
    one = points[1]
    rows = [(at, *one.names[which], value) for at, which, value in zip(one.at, one.which, one.value, strict=True)]
    assert rows == [ROWS[0], ROWS[2], ROWS[3]]
    assert store.read().over_time == {}


def test_a_file_of_figures_that_is_missing_or_damaged_leaves_the_study_readable(store):
    assert store.read(readings={("status", "Questions")}).over_time == {}
    store.save_watched(1, [WATCHED], POINTS)
    (store.directory_of_series / "trial-1.parquet").write_bytes(b"PAR1 and nothing else")
    record = store.read(readings={("status", "Questions")})
    assert record.over_time == {}
    assert record.watched == {1: {"status": WATCHED}}


def test_a_small_file_that_becomes_more_rows_than_any_trial_has_is_left_out(tmp_path, monkeypatch):
    rows = pl.DataFrame({"at": [1.0], "probe": ["host"], "name": ["cpu"], "value": [1.0]})
    path = tmp_path / "trial-1.parquet"
    pl.concat([rows] * 1000, rechunk=True).write_parquet(path)
    assert len(series.read(path, [("host", "cpu")]).at) == 1000
    monkeypatch.setattr(series, "_MOST_ROWS", 999)
    assert not series.read(path, [("host", "cpu")]).at


@pytest.mark.parametrize("altered", [{"at": ["soon"]}, {"value": [None]}, {"name": [None]}], ids=str)
def test_a_file_that_somebody_altered_has_no_figures_that_are_none(tmp_path, altered):
    path = tmp_path / "trial-1.parquet"
    pl.DataFrame({"at": [1.0], "probe": ["host"], "name": ["cpu"], "value": [1.0]} | altered).write_parquet(path)
    assert not series.read(path, [("host", "cpu")]).at
