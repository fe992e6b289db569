"""`recommended.sql` and `undo.sql`, run on real servers: each value is in force, and all is as it was after them."""

from dataclasses import replace

import pytest

from dialin.apply import option_file, sql_file
from dialin.model.build import Family
from dialin.report.files import recommendation
from dialin.servers.capabilities import Capability, has
from dialin.variables.catalogue import Catalogue, Kind, Variable
from fixtures import example_studies

pytestmark = pytest.mark.each_build


def sql_of(record):
    return recommendation(record, record.verdict)["recommended.sql"]


TRICKY = "SELECT 'it''s', \"a\\\\b\", '%s'; -- # `x` Grüße"
KNOWN = [
    Variable("max_connections", Kind.INTEGER, dynamic=True),
    Variable("init_connect", Kind.STRING, dynamic=True),
    Variable("sort_buffer_size", Kind.INTEGER, dynamic=True),
    Variable("back_log", Kind.INTEGER, dynamic=False),
]
WANTED = {"max_connections": 77, "init_connect": TRICKY, "sort_buffer_size": "1M", "back_log": 70}


def recommending(build, before, *, is_stated=True):
    """Return a study of a build that recommends what is wanted over what its server has: its baseline sets that, or nothing."""
    record = example_studies.winner()
    base, best = (one.model_copy(update={"server": build}) for one in record.spec.candidates[3:5])
    base = base.model_copy(update={"setting": {name: before[name] for name in WANTED} if is_stated else {}})
    best = best.model_copy(update={"setting": WANTED})
    both = [one for one in record.verdict.candidates if one.name in (base.name, best.name)]
    judged = [one.model_copy(update={"server": build}) for one in both]
    return replace(
        record,
        spec=record.spec.model_copy(update={"candidates": (base, best), "baseline": base.name}),
        verdict=record.verdict.model_copy(update={"recommended": WANTED, "baseline": base.name, "candidates": judged}),
        trials=[replace(trial, in_force=before) for trial in record.trials if trial.candidate in (base.name, best.name)],
        catalogues={build: Catalogue(build, {one.name: one for one in KNOWN}).to_json()},
    )


def lines(script):
    return [line for line in script.splitlines() if line and not line.startswith("--")]


@pytest.mark.parametrize("mode", ["", "NO_BACKSLASH_ESCAPES"])
def test_the_recommendation_comes_into_force_and_undo_takes_it_back(server, mode):
    before = server.variables()
    record = recommending(server.build.id, before)
    script, undo = sql_of(record), sql_file.render_undo(record)
    names = f"SET SESSION sql_mode = '{mode}'", "SET NAMES utf8mb4"
    try:
        server.query(*names, *lines(script))
        now = server.variables()
        assert now["max_connections"] == "77"
        assert now["sort_buffer_size"] == str(2**20)
        assert now["init_connect"] == TRICKY
        assert now["back_log"] == before["back_log"], "only a start sets it"
        if has(server.build, Capability.PERSIST):
            asked = "SELECT variable_name, variable_value FROM performance_schema.persisted_variables"
            assert dict(server.query(asked)) == {**{name: now[name] for name in WANTED}, "back_log": "70"}
        else:
            assert "back_log" not in "".join(lines(script))
    finally:
        server.query(*names, *lines(undo))
    assert server.variables() == before
    if has(server.build, Capability.PERSIST):
        assert server.query("SELECT * FROM performance_schema.persisted_variables") == ()


def test_undo_sets_nothing_that_only_a_sandbox_had(server):
    before = server.variables()
    record = recommending(server.build.id, {**before, "max_connections": "55"}, is_stated=False)
    try:
        server.query("SET NAMES utf8mb4", *lines(sql_of(record)))
        server.query(*lines(sql_file.render_undo(record)))
        assert server.variables()["max_connections"] == "77", "it is for the next start to take back"
        if has(server.build, Capability.PERSIST):
            assert server.query("SELECT * FROM performance_schema.persisted_variables") == ()
    finally:
        server.query("SET NAMES utf8mb4", *lines(sql_file.render_undo(recommending(server.build.id, before))))
    assert server.variables() == before


@pytest.mark.parametrize(("limited", "limit"), option_file.PAIRS.items())
def test_a_value_above_its_limit_is_cut_or_moves_it_as_the_note_says(server, limited, limit):
    before = server.variables()
    if not {limited, limit} <= set(before):
        pytest.skip("the build has no such limit")
    high, moved = (95, False) if "pct" in limit else (2 * int(before[limit]), server.build.family is Family.MARIADB)
    try:
        server.query(f"SET GLOBAL {limited} = {high}")
        now = server.variables()
        assert now[limited] == (str(high) if moved else before[limit])
        assert now[limit] == (str(2 * high) if moved else before[limit])
    finally:
        server.query(*(f"SET GLOBAL {name} = {before[name]}" for name in (limited, limit)))
    assert server.variables() == before
