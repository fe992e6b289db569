"""What servers make of what they are asked: asked, in force, real, and what the verdict says of it; a row for each fact."""

import os
import resource
from dataclasses import dataclass, field

import pytest

from dialin.datasets.cache import copy
from dialin.errors import ServerError, UserError
from dialin.evidence import effective_settings
from dialin.model.build import BuildReference
from dialin.model.study import Candidate, StudySpec
from dialin.model.trial import EffectiveSettings
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import global_variables
from dialin.servers.objects import instrumented, real_objects
from dialin.servers.sandbox import Sandbox
from dialin.trials.tools import Tools
from dialin.variables import check
from live import INSTALLED

MYSQL = ("mysql@5.5", "mysql@5.6", "mysql@8.0", "mysql@9.7")
OLD_MARIADB = ("mariadb@10.1", "mariadb@10.2")
NEW_MARIADB = ("mariadb@10.11", "mariadb@10.11.5", "mariadb@11.4")
ALL = (*MYSQL, *OLD_MARIADB, *NEW_MARIADB)
NEW_MYSQL = ("mysql@8.0", "mysql@9.7")
REPORTS_WHAT_IT_LACKS = ("mysql@5.5", "mysql@5.6", "mariadb@10.1")
TAKES_ONE = (*NEW_MYSQL, "mariadb@10.2")
SPLITS = (*REPORTS_WHAT_IT_LACKS, *TAKES_ONE)
HAS_CACHES = ("mysql@5.6", *TAKES_ONE)
HAS_PARTS = (*TAKES_ONE, *NEW_MARIADB)
HAS_MOST = ("mysql@5.6", *NEW_MYSQL, *OLD_MARIADB, *NEW_MARIADB)
HAS_CHANGE = ("mysql@5.6", *NEW_MYSQL, *OLD_MARIADB, "mariadb@10.11", "mariadb@10.11.5")
EMPTY_METHOD = ("mysql@5.5", "mysql@5.6", *OLD_MARIADB)
NUMBERED_METHOD = (*NEW_MYSQL, *NEW_MARIADB)

POOL, SIZE, METHOD = "innodb_buffer_pool_instances", "innodb_buffer_pool_size", "innodb_flush_method"
CACHES, TABLES, READ = "table_open_cache_instances", "table_open_cache", "read_buffer_size"
BOTH = PARTS, PARTITIONS = "innodb_adaptive_hash_index_parts", "innodb_adaptive_hash_index_partitions"
CAPACITY, MOST = "innodb_io_capacity", "innodb_io_capacity_max"
CHANGE, COMMIT = "innodb_change_buffer_max_size", "innodb_flush_log_at_trx_commit"

GIB = 2**30
FILES = 20000
UNLIMITED = 2**64 - 1
BUFFERED, REDO_DIRECT = "data buffered, redo buffered", "data buffered, redo O_DIRECT"
DIRECT, ALL_DIRECT = "data O_DIRECT, redo buffered", "data O_DIRECT, redo O_DIRECT"
A_QUARTER = str(max(1, min(8, len(os.sched_getaffinity(0)) // 4)))  # of the CPUs, and no more than one for each 256M of 2G

_CONCERNS = {SIZE: POOL, MOST: CAPACITY, PARTITIONS: PARTS, TABLES: CACHES}


@dataclass(frozen=True)
class Row:
    """A request: what is asked of which builds, what each variable then is, what is counted, and the notes that it gets.

    `again` says that another row shows the same with another number: only `make test-all` starts a server for it.
    """

    servers: tuple
    asked: dict
    in_force: dict = field(default_factory=dict)
    real: dict = field(default_factory=dict)
    says: dict = field(default_factory=dict)
    again: bool = False

    def __str__(self):
        return ",".join(f"{name}={value}" for name, value in self.asked.items()) or f"{','.join(self.in_force)} unset"

    @property
    def concerns(self):
        """The subjects that it is about: rows that share none can share a server."""
        return {_CONCERNS.get(name, name) for name in (*self.asked, *self.in_force, *self.real)}


ROWS = [
    Row(ALL, {READ: 8200}, {READ: "8192"}, says={READ: "rounded"}),
    Row(ALL, {READ: 131072}, {READ: "131072"}, again=True),
    Row(ALL, {READ: 131073}, {READ: "131072"}, says={READ: "rounded"}, again=True),
    Row(ALL, {READ: "32M"}, {READ: str(32 * 2**20)}),
    # Pools below the threshold: reported is not real, or taken back silently.
    Row(("mysql@5.5",), {SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}),
    Row(("mysql@5.6", "mariadb@10.1"), {SIZE: "512M"}, {POOL: "8"}, {POOL: "1"}),
    Row(TAKES_ONE, {SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}),
    Row(REPORTS_WHAT_IT_LACKS, {POOL: 4, SIZE: "512M"}, {POOL: "4"}, {POOL: "1"}, {POOL: "not_real"}),
    Row(REPORTS_WHAT_IT_LACKS, {POOL: 64, SIZE: "512M"}, {POOL: "64"}, {POOL: "1"}, {POOL: "not_real"}, again=True),
    Row(TAKES_ONE, {POOL: 4, SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}, {POOL: "clamped"}),
    Row(TAKES_ONE, {POOL: 64, SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}, {POOL: "clamped"}, again=True),
    Row(("mysql@5.6", "mariadb@10.1"), {POOL: 0, SIZE: "512M"}, {POOL: "8"}, {POOL: "1"}, {POOL: "automatic, not_real"}),
    Row(TAKES_ONE, {POOL: 0, SIZE: "512M"}, {POOL: "1"}, {POOL: "1"}, {POOL: "automatic"}),
    # At it.
    Row(("mysql@5.5",), {POOL: 4, SIZE: "999M"}, {POOL: "4"}, {POOL: "1"}, {POOL: "not_real"}),
    Row(("mysql@5.5",), {POOL: 4, SIZE: "1000M"}, {POOL: "4"}, {POOL: "4"}),
    Row(("mysql@5.6", "mariadb@10.1"), {POOL: 4, SIZE: "1023M"}, {POOL: "4"}, {POOL: "1"}, {POOL: "not_real"}),
    Row(TAKES_ONE, {POOL: 4, SIZE: "1023M"}, {POOL: "1", SIZE: str(GIB)}, {POOL: "1"}, {POOL: "clamped", SIZE: "rounded"}),
    Row(SPLITS, {POOL: 4, SIZE: "1G"}, {POOL: "4", SIZE: str(GIB)}, {POOL: "4"}),
    # Above it.
    Row(("mysql@5.5",), {SIZE: "2G"}, {POOL: "1"}, {POOL: "1"}),
    Row(("mysql@5.6", "mysql@8.0", *OLD_MARIADB), {SIZE: "2G"}, {POOL: "8"}, {POOL: "8"}),
    Row(("mysql@9.7",), {SIZE: "2G"}, {POOL: A_QUARTER}, {POOL: A_QUARTER}),
    Row(SPLITS, {POOL: 4, SIZE: "2G"}, {POOL: "4", SIZE: str(2 * GIB)}, {POOL: "4"}, again=True),
    Row(SPLITS, {POOL: 64, SIZE: "2G"}, {POOL: "64", SIZE: str(2 * GIB)}, {POOL: "64"}, again=True),
    Row(REPORTS_WHAT_IT_LACKS, {POOL: 3, SIZE: "2G"}, {POOL: "3", SIZE: str(2 * GIB)}, {POOL: "3"}),
    Row(TAKES_ONE, {POOL: 3, SIZE: "2G"}, {POOL: "3", SIZE: str(2304 * 2**20)}, {POOL: "3"}, {SIZE: "rounded"}),
    Row(("mysql@5.6", "mysql@8.0", *OLD_MARIADB), {POOL: 0, SIZE: "2G"}, {POOL: "8"}, {POOL: "8"}, {POOL: "automatic"}),
    # Since 10.5 there is one, and no such variable.
    Row(NEW_MARIADB, {SIZE: "512M"}, {SIZE: str(GIB // 2), POOL: None}),
    Row(NEW_MARIADB, {SIZE: "2G"}, {SIZE: str(2 * GIB), POOL: None}),
    Row(HAS_CACHES, {CACHES: 3}, {CACHES: "3"}, {CACHES: "3"}),
    Row(HAS_CACHES, {CACHES: 64}, {CACHES: "64"}, {CACHES: "64"}, again=True),
    Row(NEW_MARIADB, {CACHES: 3}, {CACHES: "3"}, {CACHES: "3"}),
    *(Row(HAS_PARTS, {PARTS: n}, {PARTS: str(n)}, {PARTS: str(n)}, again=n != 3) for n in (1, 3, 8, 64, 512)),
    *(Row(("mariadb@10.1",), {PARTITIONS: n}, {PARTITIONS: str(n)}, {PARTITIONS: str(n)}) for n in (1, 3, 8, 64)),
    # Two names of one variable: what stands last in the option file holds for both.
    *(
        Row(("mariadb@10.2",), {first: 3, last: 5}, dict.fromkeys(BOTH, "5"), dict.fromkeys(BOTH, "5"), {first: "clamped"})
        for first, last in (BOTH, BOTH[::-1])
    ),
    *(Row(HAS_CHANGE, {CHANGE: number}, {CHANGE: str(number)}, again=number != 0) for number in (0, 50)),
    # Each limits or drags the other.
    Row(HAS_MOST, {CAPACITY: 1_000_000}, {CAPACITY: "1000000", MOST: "2000000"}),
    Row(HAS_MOST, {CAPACITY: 5000, MOST: 300}, {CAPACITY: "300", MOST: "300"}, says={CAPACITY: "clamped"}),
    Row(HAS_MOST, {CAPACITY: 3000}, {CAPACITY: "3000", MOST: "6000"}, again=True),
    Row(("mysql@5.6", "mysql@8.0", *OLD_MARIADB, *NEW_MARIADB), {CAPACITY: 200}, {CAPACITY: "200", MOST: "2000"}),
    Row(("mysql@9.7",), {CAPACITY: 200}, {CAPACITY: "200", MOST: "400"}),
    Row(
        ("mysql@5.6", *OLD_MARIADB, "mariadb@10.11.5", "mariadb@11.4"),
        {MOST: UNLIMITED},
        {CAPACITY: "200", MOST: "2000"},
        says={MOST: "clamped"},
    ),
    Row(ALL, {COMMIT: 0}, {COMMIT: "0"}),
    Row((*MYSQL, *OLD_MARIADB), {COMMIT: 2}, {COMMIT: "2"}),
    Row(NEW_MARIADB, {COMMIT: 2, METHOD: "O_DIRECT"}, {COMMIT: "2", METHOD: "O_DIRECT"}, {METHOD: DIRECT}),
    Row(NEW_MARIADB, {COMMIT: 2, METHOD: "fsync"}, {COMMIT: "2", METHOD: "fsync"}, {METHOD: BUFFERED}),
    Row((*OLD_MARIADB, *NEW_MARIADB), {COMMIT: 3}, {COMMIT: "3"}),
    # How the files are open.
    Row(EMPTY_METHOD, {}, {METHOD: ""}, {METHOD: BUFFERED}),
    Row(("mysql@8.0",), {}, {METHOD: "fsync"}, {METHOD: BUFFERED}),
    Row(("mysql@9.7",), {}, {METHOD: "O_DIRECT"}, {METHOD: DIRECT}),
    Row(NEW_MARIADB, {}, {METHOD: "O_DIRECT"}, {METHOD: ALL_DIRECT}),
    Row((*MYSQL, *OLD_MARIADB), {METHOD: "O_DIRECT"}, {METHOD: "O_DIRECT"}, {METHOD: DIRECT}),
    Row(NEW_MARIADB, {METHOD: "O_DIRECT"}, {METHOD: "O_DIRECT"}, {METHOD: ALL_DIRECT}),
    Row((*MYSQL, *OLD_MARIADB), {METHOD: "fsync"}, {METHOD: "fsync"}, {METHOD: BUFFERED}),
    Row(NEW_MARIADB, {METHOD: "fsync"}, {METHOD: "fsync"}, {METHOD: REDO_DIRECT}),
    Row((*MYSQL, *OLD_MARIADB), {METHOD: "O_DSYNC"}, {METHOD: "O_DSYNC"}, {METHOD: BUFFERED}),
    Row(NEW_MARIADB, {METHOD: "O_DSYNC"}, {METHOD: "O_DSYNC"}, {METHOD: ALL_DIRECT}),
    Row(
        ("mysql@5.6", *NEW_MYSQL, *OLD_MARIADB), {METHOD: "O_DIRECT_NO_FSYNC"}, {METHOD: "O_DIRECT_NO_FSYNC"}, {METHOD: DIRECT}
    ),
    Row(NEW_MARIADB, {METHOD: "O_DIRECT_NO_FSYNC"}, {METHOD: "O_DIRECT_NO_FSYNC"}, {METHOD: ALL_DIRECT}),
    Row(NEW_MYSQL, {METHOD: 0}, {METHOD: "fsync"}, {METHOD: BUFFERED}),
    Row(NEW_MYSQL, {METHOD: 4}, {METHOD: "O_DIRECT"}, {METHOD: DIRECT}, again=True),
    Row(NEW_MARIADB, {METHOD: 0}, {METHOD: "fsync"}, {METHOD: REDO_DIRECT}, again=True),
    Row(NEW_MARIADB, {METHOD: 4}, {METHOD: "O_DIRECT"}, {METHOD: ALL_DIRECT}),
    *(
        Row(("mariadb@10.1.13",), {METHOD: method}, {METHOD: method}, {METHOD: REDO_DIRECT}, {METHOD: "not_real"})
        for method in ("O_DIRECT", "O_DIRECT_NO_FSYNC")
    ),
    Row(("mariadb@10.1", "mariadb@10.1.13"), {METHOD: "ALL_O_DIRECT"}, {METHOD: "ALL_O_DIRECT"}, {METHOD: ALL_DIRECT}),
]

ROWS = [row for row in ROWS if not row.again or "DIALIN_TEST_ALL" in os.environ]


def builds_of(server):
    reference = BuildReference.parse(server)
    return [build for build in INSTALLED if reference.matches(build)]


CASES = [pytest.param(server, row, id=f"{server}-{row}") for row in ROWS for server in row.servers if builds_of(server)]


def the(server):
    found = builds_of(server)
    if not found:
        pytest.skip(f"{server} is not installed")
    return max(found, key=lambda build: build.version)


@pytest.fixture(scope="module")
def tools():
    return Tools.open(lambda text: None)


def ask(tools, build, setting, question):
    """What a server that is started with a setting answers to a question: a function of its connection and its process."""
    sandbox = Sandbox.create(build, tools.home, tools.ledger, tools.clock)
    try:
        copy(tools.preparer.blank(build, {}).data, sandbox.data)
        sandbox.boot(setting)
        with sandbox.connect() as query:
            return question(query, sandbox.pid)
    finally:
        sandbox.remove()


def looked_at(build):
    def look(query, pid):
        values = global_variables(query)
        return EffectiveSettings(values, real_objects(query, pid, build, values))

    return look


def seen(tools, build, setting):
    """What a server comes to that is started with a setting, every lock visible."""
    return ask(tools, build, {**instrumented(build), **setting}, looked_at(build))


def study(build, **settings):
    candidates = [Candidate(name=name, setting=setting, server=build.id) for name, setting in settings.items()]
    return StudySpec(candidates=tuple(candidates), baseline=candidates[0].name)


def said(tools, build, asked, found):
    """The codes of the notes that a candidate gets, by variable."""
    notes = effective_settings.deviations(
        study(build, asked=asked, other={}), {"asked": found}, {build.id: tools.catalogue(build)}
    )
    codes = {}
    for note in notes:
        codes.setdefault(note.variable, []).append(note.code)
    return {variable: ", ".join(found) for variable, found in codes.items()}


def gathered(server):
    """The settings that a server is started with: each is of as many rows as share no subject."""
    groups = []
    for row in (row for row in ROWS if server in row.servers):
        group = next((group for group in groups if not any(row.concerns & other.concerns for other in group)), None)
        if group is None:
            groups.append(group := [])
        group.append(row)
    return [(group, {name: value for row in group for name, value in row.asked.items()}) for group in groups]


GATHERED = {server: gathered(server) for server in dict.fromkeys(server for row in ROWS for server in row.servers)}


def pools_and_locks(query, build):
    """How many pools there are by the table that lists them, and how many locks of their page hashes."""
    pools = "SELECT COUNT(*) FROM information_schema.innodb_buffer_pool_stats"
    locks = "SELECT COUNT(*) FROM performance_schema.rwlock_instances WHERE name LIKE '%%hash\\_table\\_locks%%'"
    return (query(pools)[0][0] if has(build, Capability.POOL_STATS) else None), query(locks)[0][0]


@pytest.fixture(scope="module")
def started(tools):
    """Starts the server that a row shares with others, once; gives what it came to, and its pools and their locks."""
    known = {}

    def start(server, row):
        build = the(server)
        index, setting = next((n, setting) for n, (group, setting) in enumerate(GATHERED[server]) if row in group)
        if (server, index) not in known:
            tools.check_setting(build, setting)
            known[server, index] = ask(
                tools,
                build,
                {**instrumented(build), **setting},
                lambda query, pid: (looked_at(build)(query, pid), *pools_and_locks(query, build)),
            )
        return known[server, index]

    return start


@pytest.mark.parametrize(("server", "row"), CASES)
def test_each_value_asked_comes_into_force_and_is_noted_as_the_row_says(tools, started, server, row):
    build = the(server)
    check.check_setting(row.asked, tools.catalogue(build), {})
    found, *_ = started(server, row)
    assert {name: found.in_force.get(name) for name in row.in_force} == row.in_force
    assert {name: found.real.get(name) for name in row.real} == row.real
    assert said(tools, build, row.asked, found) == row.says


@pytest.mark.parametrize(("server", "row"), [case for case in CASES if POOL in case.values[1].concerns])
def test_the_pools_that_are_counted_are_those_that_the_server_lists_each_with_sixteen_locks(started, server, row):
    """5.5 lists none, 10.11 and 11.4 have one pool and no such locks."""
    found, pools, locks = started(server, row)
    if server in NEW_MARIADB:
        assert (pools, locks, found.real.get(POOL)) == (1, 0, None)
    elif server == "mysql@5.5":
        assert (pools, locks) == (None, 0)
    else:
        assert (str(pools), locks) == (found.real[POOL], 16 * pools)


@pytest.mark.parametrize(("tables", "most"), [(2000, "4"), (400, "24")])
@pytest.mark.parametrize("server", NEW_MARIADB)
def test_the_cut_of_the_table_caches_by_the_file_limit_is_said(tools, server, tables, most):
    """10.11 and 11.4 cut what is asked for to what the limit of open files lets them have, and log nothing."""
    build = the(server)
    asked = {CACHES: 64, TABLES: tables}
    found = seen(tools, build, asked)
    if found.in_force[CACHES] == "64":
        pytest.skip(f"the limit of open files here, {found.in_force['open_files_limit']}, cuts nothing")
    clamped = [name for name, value in asked.items() if found.in_force[name] != str(value)]
    assert said(tools, build, asked, found) == dict.fromkeys(clamped, "clamped")
    assert found.in_force[CACHES] == found.real[CACHES]
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] == FILES:
        assert found.in_force[CACHES] == most


def test_a_value_that_kills_the_server_is_reported_by_its_signal(tools):
    """9.7 divides by zero."""
    with pytest.raises(ServerError, match="died of SIGFPE"):
        seen(tools, the("mysql@9.7"), {POOL: 0, SIZE: "2G"})


REFUSED = [
    (ALL, {METHOD: "fdatasync"}),
    (ALL, {READ: "abc"}),
    (ALL, {READ: "12Q"}),
    *((ALL, {READ: size}) for size in (1, "4G")),
    (ALL, {"no_such_variable": 1}),
    (("mysql@5.5", "mysql@5.6", *NEW_MYSQL, "mariadb@10.2", *NEW_MARIADB), {METHOD: "ALL_O_DIRECT"}),
    (("mysql@5.5",), {METHOD: "O_DIRECT_NO_FSYNC"}),
    (EMPTY_METHOD, {METHOD: 4}),
    (NEW_MARIADB, {POOL: 4}),
    (SPLITS, {POOL: 65}),
    (SPLITS, {POOL: 100}),
    (("mysql@5.5",), {POOL: 0}),
    (("mysql@5.5", "mariadb@10.1"), {CACHES: 4}),
    *(((*HAS_CACHES, *NEW_MARIADB), {CACHES: number}) for number in (0, 65, 1000)),
    *((HAS_PARTS, {PARTS: number}) for number in (0, 1000)),
    (("mysql@5.5", "mysql@5.6", "mariadb@10.1"), {PARTS: 8}),
    (("mariadb@10.1",), {PARTITIONS: 512}),
    ((*MYSQL, *NEW_MARIADB), {PARTITIONS: 8}),
    *((HAS_CHANGE, {CHANGE: number}) for number in (51, 100, -5)),
    (("mysql@5.5", "mariadb@11.4"), {CHANGE: 25}),
    *((ALL, {CAPACITY: number}) for number in (50, 0, -1)),
    (("mysql@5.5",), {MOST: 2000}),
    ((*NEW_MYSQL, "mariadb@10.11.19", "mariadb@10.1.13"), {MOST: UNLIMITED}),
    (ALL, {COMMIT: -1}),
    (MYSQL, {COMMIT: 3}),
]


@pytest.mark.parametrize(
    ("server", "asked"),
    [
        pytest.param(server, asked, id=f"{server}-{asked}")
        for servers, asked in REFUSED
        for server in servers
        if builds_of(server)
    ],
)
def test_values_that_a_server_would_refuse_or_change_grossly_never_come_to_a_trial(tools, server, asked):
    """Most is refused in milliseconds; what an old server notices only while it starts, it dies of when it is looked at."""
    build = the(server)
    (name,) = asked

    def begin():
        tools.check_setting(build, asked)
        seen(tools, build, asked)

    with pytest.raises((UserError, ServerError)) as refusal:
        begin()
    assert isinstance(refusal.value, UserError) or name == METHOD
    assert "did not start" in refusal.value.what or isinstance(refusal.value, UserError)
    assert name in f"{refusal.value.what}\n{refusal.value.log_tail}"
