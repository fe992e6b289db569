"""What differs on real servers but is not under test, which candidates are identical, and how confounds are pinned."""

import pytest

from dialin.evidence import effective_settings
from dialin.model.trial import EffectiveSettings
from dialin.servers.capabilities import Capability, has
from dialin.servers.connection import global_variables
from dialin.trials.tools import Tools
from live import FAST, only_with_all
from test_in_force import (
    ALL,
    CAPACITY,
    COMMIT,
    GIB,
    HAS_MOST,
    METHOD,
    MOST,
    NEW_MARIADB,
    POOL,
    REPORTS_WHAT_IT_LACKS,
    SIZE,
    TAKES_ONE,
    ask,
    looked_at,
    said,
    seen,
    study,
    the,
)

SWITCH = "performance_schema"
BUFFERING = ("innodb_data_file_buffering", "innodb_log_file_buffering")
WRITTEN_THROUGH = ("innodb_data_file_write_through", "innodb_log_file_write_through")


def one_of(servers):
    """All of the servers, which come to the same: `make test` asks the one that starts fastest."""
    return pytest.mark.parametrize(
        "server", [pytest.param(server, marks=() if server == FAST else only_with_all) for server in servers]
    )


@pytest.fixture(scope="module")
def tools():
    return Tools.open(lambda text: None)


@pytest.mark.parametrize("server", REPORTS_WHAT_IT_LACKS)
def test_candidates_that_report_other_numbers_and_have_one_pool_are_one(tools, server):
    build = the(server)
    settings = {"one": {POOL: 1, SIZE: "512M"}, "eight": {POOL: 8, SIZE: "512M"}}
    found = {name: seen(tools, build, setting) for name, setting in settings.items()}
    spec = study(build, **settings)
    (note,) = effective_settings.same_notes(spec, found, effective_settings.same(spec, found))
    assert note.candidates == ("one", "eight")
    assert "each has 1 real innodb_buffer_pool_instances" in note.sentence(spec)


@pytest.mark.parametrize("server", TAKES_ONE)
def test_a_pool_that_grew_and_a_chunk_that_shrank_are_named_with_all_values(tools, server):
    build = the(server)
    settings = {name: {POOL: number} for name, number in (("one", 1), ("three", 3), ("many", 64))}
    found = {name: seen(tools, build, {SIZE: "2G", **setting}) for name, setting in settings.items()}
    spec = study(build, **settings).model_copy(update={"fixed": {SIZE: "2G"}})
    notes = {note.variable: note for note in effective_settings.confounds(spec, found)}
    assert notes[SIZE].values == {"one": str(2 * GIB), "three": str(2304 * 2**20), "many": str(2 * GIB)}
    assert notes[SIZE].could_explain
    assert notes["innodb_buffer_pool_chunk_size"].values["many"] == str(32 * 2**20)
    apart = study(build, one=settings["one"], three=settings["three"])
    held = apart.model_copy(update={"fixed": spec.fixed, "held": notes[SIZE].hold})
    still = {name: seen(tools, build, held.setting_of(name)) for name in held.names}
    assert {SIZE, "innodb_buffer_pool_chunk_size"}.isdisjoint(
        note.variable for note in effective_settings.confounds(held, still)
    )


@pytest.mark.parametrize("server", NEW_MARIADB)
@pytest.mark.parametrize(
    ("asked", "values", "derived"),
    [(COMMIT, (1, 2), {"innodb_log_file_buffering"}), (METHOD, ("O_DIRECT", "O_DSYNC"), {*BUFFERING, *WRITTEN_THROUGH})],
)
def test_variables_derived_from_how_a_server_writes_are_named_and_hide_no_difference(tools, server, asked, values, derived):
    build = the(server)
    settings = {str(value): {asked: value} for value in values}
    found = {name: seen(tools, build, setting) for name, setting in settings.items()}
    notes = {note.variable: note for note in effective_settings.confounds(study(build, **settings), found)}
    assert set(notes) <= derived
    assert set(notes) or asked == METHOD  # which has variables of its own for its parts since 11.0
    assert all(note.follows == (asked,) and not note.could_explain for note in notes.values())


@one_of(HAS_MOST)
def test_the_limit_that_the_capacity_drags_along_is_named(tools, server):
    build = the(server)
    settings = {"low": {CAPACITY: 3000}, "high": {CAPACITY: 30000}}
    found = {name: seen(tools, build, setting) for name, setting in settings.items()}
    notes = {note.variable: note for note in effective_settings.confounds(study(build, **settings), found)}
    assert notes[MOST].values == {"low": "6000", "high": "60000"}
    assert notes[MOST].follows == (CAPACITY,)
    assert notes[MOST].hold == {MOST: 60000}


@pytest.mark.parametrize("server", HAS_MOST)
def test_a_capacity_that_is_set_at_run_time_is_cut_on_mysql_and_drags_its_limit_on_mariadb(tools, server):
    """As a sweep of an attached server meets it: one SET GLOBAL for each candidate, on a server that stays as it is."""
    build = the(server)

    def change(query, pid):
        def after(name, value):
            query(f"SET GLOBAL {name} = {value}")
            return EffectiveSettings(global_variables(query))

        before = EffectiveSettings(global_variables(query))
        above = after(CAPACITY, 50000)
        query(f"SET GLOBAL {CAPACITY} = {before.in_force[CAPACITY]}")
        query(f"SET GLOBAL {MOST} = {before.in_force[MOST]}")
        return before, above, after(MOST, 100)

    before, above, below = ask(tools, build, {CAPACITY: 200, MOST: 2000}, change)
    values = [(found.in_force[CAPACITY], found.in_force[MOST]) for found in (before, above, below)]
    codes = [said(tools, build, {CAPACITY: 50000}, above), said(tools, build, {MOST: 100}, below)]
    dragged = [
        {note.variable: note.follows for note in effective_settings.confounds(spec, {"before": before, "after": after})}
        for spec, after in (
            (study(build, before={CAPACITY: 200}, after={CAPACITY: 50000}), above),
            (study(build, before={MOST: 2000}, after={MOST: 100}), below),
        )
    ]
    if server.startswith("mysql"):
        assert values == [("200", "2000"), ("2000", "2000"), ("200", "200")]
        assert codes == [{CAPACITY: "clamped"}, {MOST: "clamped"}]
        assert dragged == [{}, {}]
    else:
        assert values == [("200", "2000"), ("50000", "100000"), ("100", "100")]
        assert codes == [{}, {}]
        assert dragged == [{MOST: (CAPACITY,)}, {CAPACITY: (MOST,)}]


@one_of(ALL)
def test_the_parts_of_the_performance_schema_are_no_confounds_of_its_switch(tools, server):
    build = the(server)
    settings = {"on": {SWITCH: "ON"}, "off": {SWITCH: "OFF"}}
    found = {name: ask(tools, build, setting, looked_at(build)) for name, setting in settings.items()}
    assert {name: one.in_force[SWITCH] for name, one in found.items()} == {"on": "ON", "off": "OFF"}
    assert {name: said(tools, build, setting, found[name]) for name, setting in settings.items()} == {"on": {}, "off": {}}
    on, off = (found[name].in_force for name in ("on", "off"))
    moved = [name for name in on if name.startswith(f"{SWITCH}_") and on[name] != off.get(name)]
    assert bool(moved) is has(build, Capability.INSTRUMENT_OPTION)  # 5.5 sizes nothing by itself
    spec = study(build, **settings)
    assert effective_settings.confounds(spec, found) == []
    assert effective_settings.same(spec, found) == []
