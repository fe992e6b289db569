"""How a server is filled quickly, and how far it is."""

import time

import pytest

from dialin.datasets import filling
from dialin.datasets.filling import Progress
from dialin.errors import MachineError
from dialin.model.build import Build, Vendor

MYSQL_9, MYSQL_56 = Build(Vendor.ORACLE, (9, 7, 4), None), Build(Vendor.ORACLE, (5, 6, 24), None)
GB = 10**9
MYSQL_55, MARIADB = Build(Vendor.ORACLE, (5, 5, 9), None), Build(Vendor.MARIADB, (10, 11, 19), None)


@pytest.mark.parametrize("build", [MYSQL_9, MYSQL_56, MYSQL_55, MARIADB], ids=lambda build: build.id)
def test_a_server_is_filled_without_what_guards_it_and_guards_itself_before_its_data_is_used(build):
    assert filling.fast_setting(build, GB)["innodb_doublewrite"] == "OFF"
    assert not filling.usual_setting(build).keys() & filling.fast_setting(build, GB).keys()
    said = []
    filling.begin_filling(said.append, build)
    filling.end_filling(said.append, build)
    switched = ["ALTER INSTANCE DISABLE INNODB REDO_LOG", "ALTER INSTANCE ENABLE INNODB REDO_LOG"] if build is MYSQL_9 else []
    assert said == switched


def test_the_redo_log_has_room_where_it_cannot_be_switched_off_and_its_size_may_change():
    builds = (MYSQL_9, MYSQL_56, MYSQL_55, MARIADB)
    large = [build.id for build in builds if "innodb_log_file_size" in filling.fast_setting(build, GB)]
    assert large == [MYSQL_56.id, MARIADB.id]


def test_the_redo_log_takes_no_more_than_a_quarter_of_the_data_beside_it_and_no_less_than_usual():
    sizes = [filling.fast_setting(MYSQL_56, size)["innodb_log_file_size"] for size in (filling.FROM, 2 * GB, 100 * GB)]
    assert sizes == [64 * 1024**2, 2 * GB // 8, 1024**3], "two files, for which room is not asked for"


def test_the_list_of_the_pool_s_pages_survives_the_second_start():
    assert filling.usual_setting(MYSQL_9)["innodb_buffer_pool_dump_at_shutdown"] == "OFF"
    assert filling.usual_setting(MYSQL_55) == {}


def test_data_without_a_redo_log_is_refused():
    filling.check_guarded(lambda statement: [("Innodb_redo_log_enabled", "ON")], MYSQL_9)
    filling.check_guarded(lambda statement: [], MYSQL_56)
    with pytest.raises(MachineError, match="does not write its redo log"):
        filling.check_guarded(lambda statement: [("Innodb_redo_log_enabled", "OFF")], MYSQL_9)


def test_progress_is_told_for_each_tenth_but_not_too_often_and_not_too_seldom():
    progress = Progress(10 * 10**9, began=0.0)
    told = {at: progress.line(at, size * 10**7) for at, size in enumerate(range(0, 300, 1)) if at % 5 == 0}
    # 10 MB a second: a tenth takes 100 s, so that a minute without a line comes first
    assert [at for at, line in told.items() if line] == [60, 100, 160, 200, 260]
    assert told[60] == "0.6 of about 10.0 GB are prepared, 10 MB/s, about 15 min 40 s left"
    fast = Progress(10 * 10**9, began=0.0)
    assert [at for at in range(5, 30, 5) if fast.line(at, at * 10**9 // 3)] == [10, 20], "not more often than each ten seconds"


def test_progress_names_no_end_where_there_is_as_much_as_was_expected():
    progress = Progress(10**9, began=100.0)
    assert progress.line(120.0, 0) is None
    assert progress.line(120.0, 2 * 10**9) == "2.0 GB of data are prepared, 100 MB/s"


def test_the_growth_of_a_directory_is_told_while_it_is_filled(tmp_path, clock, monkeypatch):
    monkeypatch.setattr(filling, "_LOOK_EVERY", 0.01)
    times = iter(range(0, 10**6, 5))
    monkeypatch.setattr(clock, "monotonic", lambda: next(times))
    (tmp_path / "before").write_bytes(b"x" * 50_000)
    told = []
    with filling.telling_progress(tmp_path, 80_000, clock, told.append):
        (tmp_path / "new").write_bytes(b"x" * 40_960)
        while not told:
            time.sleep(0.01)
    assert "of about 0.0 GB are prepared" in told[0]


@pytest.mark.parametrize(("schema", "analyzed"), [(None, ["`a`.`t`", "`b`.`odd``one`"]), ("a", ["`a`.`t`"])])
def test_the_server_learns_how_many_rows_its_tables_have_without_telling_its_replicas(schema, analyzed):
    asked = []

    def query(statement, of_schema=("a", "b")):
        asked.append(statement)
        return [row for row in [("a", "t"), ("b", "odd`one")] if row[0] in of_schema]

    filling.update_statistics(query, schema)
    assert asked[1:] == [f"ANALYZE NO_WRITE_TO_BINLOG TABLE {table}" for table in analyzed]
