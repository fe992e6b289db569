"""What servers make of what they are asked: asked, in force, real, and what the verdict says of it; a row for each fact."""

from dataclasses import dataclass, field

import pytest

from dialin.datasets.cache import copy
from dialin.errors import ServerError, UserError
from dialin.model.build import BuildReference
from dialin.model.study import Candidate, StudySpec
from dialin.servers import dry_run
from dialin.servers.connection import global_variables
from dialin.servers.objects import instrumented, real_objects
from dialin.servers.sandbox import Sandbox
from dialin.study import comparison
from dialin.study.comparison import Seen
from dialin.study.workshop import Workshop
from dialin.variables import check
from live import INSTALLED

MYSQL = ("mysql@5.5", "mysql@5.6", "mysql@8.0", "mysql@9.7")
OLD_MARIADB = ("mariadb@10.1", "mariadb@10.2")
NEW_MARIADB = ("mariadb@10.11", "mariadb@11.4")
ALL = (*MYSQL, *OLD_MARIADB, *NEW_MARIADB)
GIB = 2**30


@dataclass(frozen=True)
class Row:
    """A request: what is asked of which builds, what each variable then is, what is counted, and the note that it gets."""

    servers: tuple
    asked: dict
    in_force: dict = field(default_factory=dict)
    real: dict = field(default_factory=dict)
    says: dict = field(default_factory=dict)

    def __str__(self):
        return ",".join(f"{name}={value}" for name, value in self.asked.items())


POOL, SIZE, METHOD = "innodb_buffer_pool_instances", "innodb_buffer_pool_size", "innodb_flush_method"
CACHES, READ = "table_open_cache_instances", "read_buffer_size"
PARTS, PARTITIONS = "innodb_adaptive_hash_index_parts", "innodb_adaptive_hash_index_partitions"
CAPACITY, MOST = "innodb_io_capacity", "innodb_io_capacity_max"
REPORTS_WHAT_IT_LACKS = ("mysql@5.5", "mysql@5.6", "mariadb@10.1")
TAKES_ONE = ("mysql@8.0", "mysql@9.7", "mariadb@10.2")
SPLITS = ("mysql@5.5", "mysql@5.6", "mysql@8.0", "mysql@9.7", "mariadb@10.1", "mariadb@10.2")

ROWS = [
    Row(ALL, {READ: 8200}, {READ: "8192"}, says={READ: "rounded"}),
    Row(ALL, {READ: 131073}, {READ: "131072"}, says={READ: "rounded"}),
    Row(ALL, {READ: "32M"}, {READ: str(32 * 2**20)}),
    # Below the threshold: reported is not real, or taken back silently.
    Row(REPORTS_WHAT_IT_LACKS, {POOL: 4, SIZE: "512M"}, {POOL: "4"}, {POOL: "1"}, {POOL: "not_real"}),
    Row(REPORTS_WHAT_IT_LACKS, {POOL: 64, SIZE: "512M"}, {POOL: "64"}, {POOL: "1"}, {POOL: "not_real"}),
    Row(TAKES_ONE, {POOL: 4, SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}, {POOL: "clamped"}),
    Row(TAKES_ONE, {POOL: 64, SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}, {POOL: "clamped"}),
    # Above it.
    Row(SPLITS, {POOL: 4, SIZE: "2G"}, {POOL: "4", SIZE: str(2 * GIB)}, {POOL: "4"}),
    Row(SPLITS, {POOL: 64, SIZE: "2G"}, {POOL: "64", SIZE: str(2 * GIB)}, {POOL: "64"}),
    Row(("mysql@5.5", "mysql@5.6", "mariadb@10.1"), {POOL: 3, SIZE: "2G"}, {POOL: "3", SIZE: str(2 * GIB)}, {POOL: "3"}),
    Row(TAKES_ONE, {POOL: 3, SIZE: "2G"}, {POOL: "3", SIZE: str(2304 * 2**20)}, {POOL: "3"}, {SIZE: "rounded"}),
    Row(("mysql@5.6", "mysql@8.0", "mysql@9.7", "mariadb@10.2"), {CACHES: 3}, {CACHES: "3"}, {CACHES: "3"}),
    Row(("mysql@5.6", "mysql@8.0", "mysql@9.7", "mariadb@10.2"), {CACHES: 64}, {CACHES: "64"}, {CACHES: "64"}),
    Row(NEW_MARIADB, {CACHES: 3}, {CACHES: "3"}, {CACHES: "3"}),
    Row(("mysql@8.0", "mysql@9.7", "mariadb@10.2", *NEW_MARIADB), {PARTS: 3}, {PARTS: "3"}, {PARTS: "3"}),
    Row(("mysql@8.0", "mysql@9.7", "mariadb@10.2", *NEW_MARIADB), {PARTS: 64}, {PARTS: "64"}, {PARTS: "64"}),
    Row(("mariadb@10.1",), {PARTITIONS: 3}, {PARTITIONS: "3"}, {PARTITIONS: "3"}),
    # Each limits or drags the other.
    Row(("mysql@5.6", *OLD_MARIADB, *NEW_MARIADB), {CAPACITY: 1_000_000}, {CAPACITY: "1000000", MOST: "2000000"}),
    Row(("mysql@8.0", "mysql@9.7"), {CAPACITY: 1_000_000}, {CAPACITY: "1000000", MOST: "2000000"}),
    Row(
        ("mysql@5.6", "mysql@8.0", "mysql@9.7", *OLD_MARIADB, *NEW_MARIADB),
        {CAPACITY: 5000, MOST: 300},
        {CAPACITY: "300", MOST: "300"},
        says={CAPACITY: "clamped"},
    ),
    Row((*OLD_MARIADB, *NEW_MARIADB), {"innodb_flush_log_at_trx_commit": 3}, {"innodb_flush_log_at_trx_commit": "3"}),
    # How the files are open.
    Row((*MYSQL, *OLD_MARIADB), {METHOD: "O_DIRECT"}, {METHOD: "O_DIRECT"}, {METHOD: "data O_DIRECT, redo buffered"}),
    Row(NEW_MARIADB, {METHOD: "O_DIRECT"}, {METHOD: "O_DIRECT"}, {METHOD: "data O_DIRECT, redo O_DIRECT"}),
    Row(("mysql@8.0", "mysql@9.7"), {METHOD: "fsync"}, {METHOD: "fsync"}, {METHOD: "data buffered, redo buffered"}),
    Row(NEW_MARIADB, {METHOD: "fsync"}, {METHOD: "fsync"}, {METHOD: "data buffered, redo O_DIRECT"}),
    Row(("mariadb@10.1",), {METHOD: "ALL_O_DIRECT"}, {METHOD: "ALL_O_DIRECT"}, {METHOD: "data O_DIRECT, redo O_DIRECT"}),
    Row(
        ("mysql@5.6", "mysql@8.0", "mysql@9.7", *OLD_MARIADB, *NEW_MARIADB),
        {METHOD: "O_DIRECT_NO_FSYNC"},
        {METHOD: "O_DIRECT_NO_FSYNC"},
    ),
    Row(
        ("mariadb@10.1.13",),
        {METHOD: "O_DIRECT"},
        {METHOD: "O_DIRECT"},
        {METHOD: "data buffered, redo O_DIRECT"},
        {METHOD: "not_real"},
    ),
]

CASES = [pytest.param(server, row, id=f"{server}-{row}") for row in ROWS for server in row.servers]


def the(server):
    reference = BuildReference.parse(server)
    found = [build for build in INSTALLED if reference.matches(build)]
    if not found:
        pytest.skip(f"{server} is not installed")
    return max(found, key=lambda build: build.version)


@pytest.fixture(scope="module")
def workshop():
    return Workshop.open(lambda text: None)


def seen(workshop, build, setting):
    """What a server comes to that is started with a setting, every lock visible."""
    sandbox = Sandbox.create(build, workshop.home, workshop.ledger, workshop.clock)
    try:
        copy(workshop.preparer.blank(build, {}).data, sandbox.data)
        sandbox.boot({**instrumented(build), **setting})
        with sandbox.connect() as query:
            values = global_variables(query)
            return Seen(values, real_objects(query, sandbox.pid, build, values))
    finally:
        sandbox.remove()


def study(build, **settings):
    candidates = [Candidate(name=name, setting=setting, server=build.id) for name, setting in settings.items()]
    return StudySpec(candidates=tuple(candidates), baseline=candidates[0].name)


@pytest.mark.parametrize(("server", "row"), CASES)
def test_what_is_asked_in_force_real_and_said(workshop, server, row):
    build = the(server)
    catalogue = workshop.catalogue(build)
    check.check_setting(row.asked, catalogue, {})
    found = seen(workshop, build, row.asked)
    assert {name: found.in_force[name] for name in row.in_force} == row.in_force
    assert {name: found.real.get(name) for name in row.real} == row.real
    spec = study(build, asked=row.asked, other={})
    notes = comparison.deviations(spec, {"asked": found}, {build.id: catalogue})
    assert {note.data["variable"]: note.code for note in notes} == row.says


@pytest.mark.parametrize("server", NEW_MARIADB)
def test_the_cut_of_the_table_caches_by_the_file_limit_is_said(workshop, server):
    """10.11 and 11.4 cut what is asked for to what the limit of open files lets them have, and log nothing."""
    build = the(server)
    found = seen(workshop, build, {CACHES: 64})
    if found.in_force[CACHES] == "64":
        pytest.skip(f"the limit of open files here, {found.in_force['open_files_limit']}, cuts nothing")
    spec = study(build, asked={CACHES: 64}, other={})
    (note,) = comparison.deviations(spec, {"asked": found}, {build.id: workshop.catalogue(build)})
    assert (note.code, note.data["in_force"]) == ("clamped", found.real[CACHES])


@pytest.mark.parametrize("server", REPORTS_WHAT_IT_LACKS)
def test_candidates_that_report_other_numbers_and_have_one_pool_are_one(workshop, server):
    build = the(server)
    settings = {"one": {POOL: 1, SIZE: "512M"}, "eight": {POOL: 8, SIZE: "512M"}}
    found = {name: seen(workshop, build, setting) for name, setting in settings.items()}
    (note,) = comparison.same_notes(study(build, **settings), found)
    assert note.data["candidates"] == ["one", "eight"]
    assert "each has 1 real innodb_buffer_pool_instances" in note.text


@pytest.mark.parametrize("server", TAKES_ONE)
def test_a_pool_that_grew_and_a_chunk_that_shrank_are_named_with_all_values(workshop, server):
    build = the(server)
    settings = {name: {POOL: number} for name, number in (("one", 1), ("three", 3), ("many", 64))}
    found = {name: seen(workshop, build, {SIZE: "2G", **setting}) for name, setting in settings.items()}
    spec = study(build, **settings).model_copy(update={"fixed": {SIZE: "2G"}})
    notes = {note.data["variable"]: note for note in comparison.confounds(spec, found)}
    assert notes[SIZE].data["values"] == {"one": str(2 * GIB), "three": str(2304 * 2**20), "many": str(2 * GIB)}
    assert notes[SIZE].data["could_explain"]
    assert notes["innodb_buffer_pool_chunk_size"].data["values"]["many"] == str(32 * 2**20)
    held = spec.model_copy(update={"held": notes[SIZE].data["hold"]})
    still = {name: seen(workshop, build, held.setting_of(name)) for name in settings}
    assert {SIZE, "innodb_buffer_pool_chunk_size"}.isdisjoint(
        note.data["variable"] for note in comparison.confounds(held, still)
    )


@pytest.mark.parametrize("server", ["mysql@5.6", "mysql@8.0", "mysql@9.7", *OLD_MARIADB, *NEW_MARIADB])
def test_what_the_capacity_drags_along_is_named(workshop, server):
    build = the(server)
    settings = {"low": {CAPACITY: 3000}, "high": {CAPACITY: 30000}}
    found = {name: seen(workshop, build, setting) for name, setting in settings.items()}
    notes = {note.data["variable"]: note for note in comparison.confounds(study(build, **settings), found)}
    assert notes[MOST].data["values"] == {"low": "6000", "high": "60000"}
    assert notes[MOST].data["follows"] == [CAPACITY]
    assert notes[MOST].data["hold"] == {MOST: 60000}


def test_a_value_that_kills_the_server_is_told_by_its_signal(workshop):
    """9.7 divides by zero."""
    with pytest.raises(ServerError, match="died of SIGFPE"):
        seen(workshop, the("mysql@9.7"), {POOL: 0, SIZE: "2G"})


REFUSED = [
    (ALL, {METHOD: "fdatasync"}),
    (ALL, {READ: "abc"}),
    (ALL, {READ: "12Q"}),
    (ALL, {"no_such_variable": 1}),
    (("mysql@5.5", "mysql@5.6", "mysql@8.0", "mysql@9.7", "mariadb@10.2", *NEW_MARIADB), {METHOD: "ALL_O_DIRECT"}),
    (NEW_MARIADB, {POOL: 4}),
    (("mysql@5.5", "mariadb@10.1"), {CACHES: 4}),
    (SPLITS, {POOL: 65}),
    (MYSQL, {"innodb_flush_log_at_trx_commit": 3}),
    (("mysql@5.6", "mysql@8.0", "mysql@9.7", *OLD_MARIADB, "mariadb@10.11"), {"innodb_change_buffer_max_size": 51}),
    (ALL, {CAPACITY: 50}),
    (("mysql@8.0", "mysql@9.7", "mariadb@10.2", *NEW_MARIADB), {PARTS: 1000}),
    (("mysql@8.0", "mysql@9.7", "mariadb@10.2", *NEW_MARIADB), {PARTS: 0}),
    (NEW_MARIADB, {CAPACITY: -1}),
]


@pytest.mark.parametrize(
    ("server", "asked"),
    [pytest.param(server, asked, id=f"{server}-{asked}") for servers, asked in REFUSED for server in servers],
)
def test_what_a_server_would_refuse_or_change_grossly_never_comes_to_a_trial(workshop, server, asked):
    """Most is refused in milliseconds; what an old server notices only while it starts, it dies of when it is looked at."""
    build = the(server)

    def begin():
        check.check_setting(asked, workshop.catalogue(build), {})
        dry_run.check(build, asked)
        seen(workshop, build, asked)

    with pytest.raises((UserError, ServerError)) as refusal:
        begin()
    assert isinstance(refusal.value, UserError) or METHOD in asked
    assert "did not start" in refusal.value.what or isinstance(refusal.value, UserError)
