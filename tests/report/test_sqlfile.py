import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.apply import option_file, sql_file
from dialin.model.place import AttachedPlace
from dialin.report.files import recommendation
from dialin.report.render import html
from dialin.variables.catalogue import Kind, Variable
from fixtures import example_studies
from fixtures.changed_studies import recommending


def sql_of(record):
    return recommendation(record, record.verdict)["recommended.sql"] if record.verdict else None


WORDS = re.compile(r"SET (NAMES|PERSIST|PERSIST_ONLY|GLOBAL|SESSION sql_mode) |RESET PERSIST IF EXISTS |SHOW |SELECT ")


def tokens(text):
    """Return what a server makes of a script: its statements, each with its strings taken out, and the strings."""
    found, strings, statement, place = [], [], "", 0
    while place < len(text):
        character = text[place]
        if text.startswith("-- ", place):
            place = text.index("\n", place)
        elif character == "'":
            value, place = string(text, place)
            strings.append(value)
            statement += "?"
        elif character == ";":
            found.append(" ".join(statement.split()))
            statement, place = "", place + 1
        else:
            statement, place = statement + character, place + 1
    assert not statement.strip(), "a statement has no end"
    return found, strings


def string(text, place):
    """Read a string in quotes as MySQL does, from its first quote on; returns it, and where what follows begins."""
    value, place = "", place + 1
    while True:
        if text[place] == "\\":
            value, place = value + text[place + 1], place + 2
        elif text[place] == "'" and text[place + 1 : place + 2] == "'":
            value, place = value + "'", place + 2
        elif text[place] == "'":
            return value, place + 1
        else:
            value, place = value + text[place], place + 1


def done(record):
    return [line for one in sql_file.statements(record) for line in one.do]


def reported(script):
    """Return a script's text as it reads, comments unwrapped."""
    return " ".join(script.replace("\n--  ", "").split())


def in_sandboxes(record, **in_force):
    """Return a study whose sandboxes reported what was in force."""
    return replace(record, trials=[replace(trial, in_force=in_force) for trial in record.trials])


def undone(record):
    return [line for one in sql_file.statements(record) for line in one.undo]


DYNAMIC = Variable("innodb_io_capacity", Kind.INTEGER, dynamic=True)
AT_START = Variable("innodb_buffer_pool_instances", Kind.INTEGER, dynamic=False)


def test_a_dynamic_variable_is_persisted_and_taken_back():
    record = recommending(known=[DYNAMIC], before={"innodb_io_capacity": 200}, innodb_io_capacity=2000)
    assert done(record) == ["SET PERSIST innodb_io_capacity = 2000;"]
    assert undone(record) == ["RESET PERSIST IF EXISTS innodb_io_capacity;", "SET GLOBAL innodb_io_capacity = 200;"]


def test_variables_that_only_a_start_sets_are_persisted_for_the_next_one():
    record = recommending(known=[AT_START], before={"innodb_buffer_pool_instances": 1}, innodb_buffer_pool_instances=16)
    assert done(record) == ["SET PERSIST_ONLY innodb_buffer_pool_instances = 16;"]
    assert undone(record) == ["RESET PERSIST IF EXISTS innodb_buffer_pool_instances;"]
    assert "taken back by the next start" in reported(sql_file.render_undo(record))
    assert "in force after the next one" in " ".join(sql_of(record).replace("\n--  ", "").split())
    assert "after its next start" in sql_file.files_sentence(record)


def test_where_the_study_does_not_know_both_ways_are_reported():
    text = sql_of(recommending(before={"innodb_io_capacity": 200}, innodb_io_capacity=2000))
    assert "SET PERSIST innodb_io_capacity = 2000;\n" in text
    assert "(error 1238): SET PERSIST_ONLY innodb_io_capacity = 2000;" in " ".join(text.replace("\n--  ", "").split())


@pytest.mark.parametrize("build", ["mysql@5.6.24", "mysql@5.7.44", "mariadb@10.11.19", "mariadb@11.4.5"])
def test_where_there_is_no_persist_it_is_set_for_now_and_the_option_file_makes_it_last(build):
    record = recommending(build, [DYNAMIC], {"innodb_io_capacity": 200}, innodb_io_capacity=2000)
    assert done(record) == ["SET GLOBAL innodb_io_capacity = 2000;"]
    assert undone(record) == ["SET GLOBAL innodb_io_capacity = 200;"]
    text = sql_of(record)
    assert "PERSIST" not in text
    assert "recommended.cnf makes it last" in text
    assert "until it stops" in sql_file.files_sentence(record)


def test_a_setting_that_no_statement_can_make_leaves_no_file():
    record = recommending("mariadb@10.4.1", [AT_START], {"innodb_buffer_pool_instances": 1}, innodb_buffer_pool_instances=16)
    assert sql_of(record) is None
    assert sql_file.render_undo(record) is None
    assert "no statement can set this in a running server" in sql_file.files_sentence(record)


@pytest.mark.parametrize("name", ["no_difference", "inconclusive", "weaker_durability", "builds", "a_a"])
def test_where_nothing_is_recommended_there_are_no_statements(name):
    record = example_studies.EVERY[name]()
    assert sql_of(record) is None
    assert sql_file.render_undo(record) is None
    assert sql_file.files_sentence(record) == ""


def test_it_shows_what_is_there_before_anything_is_changed_and_at_the_end():
    found, _ = tokens(sql_of(recommending(known=[DYNAMIC], innodb_io_capacity=2000)))
    assert [statement.split()[0] for statement in found] == ["SHOW", "SELECT", "SET", "SHOW"]
    assert "performance_schema.persisted_variables" in found[1]


def test_the_reasons_stand_above_it_and_what_is_given_up():
    record = example_studies.weaker_durability()
    accepted = record.verdict.model_copy(
        update={"recommended_candidate": "2", "recommended": {"innodb_flush_log_at_trx_commit": 2}}
    )
    text = sql_of(replace(record, verdict=accepted))
    assert "-- CAREFUL: weaker durability (innodb_flush_log_at_trx_commit): a crash of the machine can lose" in text
    assert "-- Goal: throughput" in text


@pytest.mark.parametrize(
    ("value", "kind", "literal"),
    [
        (2000, Kind.INTEGER, "2000"),
        ("8G", Kind.INTEGER, "8589934592"),
        ("8G", Kind.UNKNOWN, "8589934592"),
        ("8G", Kind.STRING, "'8G'"),
        (1, Kind.STRING, "'1'"),
        (0.75, Kind.NUMERIC, "0.75"),
        ("ON", Kind.BOOLEAN, "'ON'"),
        ("O_DIRECT", Kind.ENUMERATION, "'O_DIRECT'"),
        ("STRICT_TRANS_TABLES,NO_ZERO_DATE", Kind.SET, "'STRICT_TRANS_TABLES,NO_ZERO_DATE'"),
        ("it's; DROP TABLE t; -- ", Kind.STRING, "'it''s; DROP TABLE t; -- '"),
        ("a\\b", Kind.STRING, "'a\\\\b'"),
        ("", Kind.STRING, "''"),
        ("Grüße", Kind.STRING, "'Grüße'"),
        ("a\nb", Kind.STRING, None),
        ("a\x00b", Kind.STRING, None),
        ("a\x1b[2J", Kind.STRING, None),
        ("a\u202eb", Kind.STRING, None),
    ],
)
def test_values_are_written_as_sql_reads_them_back(value, kind, literal):
    assert sql_file._literal(value, kind) == literal


@given(st.text())
def test_no_value_ends_its_own_quotes(text):
    record = recommending(known=[Variable("init_connect", Kind.STRING, dynamic=True)], init_connect=text)
    script = sql_of(record)
    if script is None:
        assert not text.isprintable()
        return
    found, strings = tokens(script)
    assert all(WORDS.match(statement) for statement in found)
    assert sum(statement.startswith("SET PERSIST") for statement in found) == 1
    assert text in strings


def test_a_backslash_means_itself_whatever_the_session_s_mode():
    plain = recommending(known=[Variable("init_connect", Kind.STRING, dynamic=True)], init_connect="ok")
    slashed = recommending(known=[Variable("init_connect", Kind.STRING, dynamic=True)], init_connect="a\\b")
    assert "sql_mode" not in sql_of(plain)
    text = sql_of(slashed)
    assert text.index("NO_BACKSLASH_ESCAPES") < text.index("SET PERSIST init_connect")


@pytest.mark.parametrize("name", ["x; DROP TABLE t", "a b", "`a`", "a'b", "", "@@global.x"])
def test_text_that_is_no_name_never_reaches_sql(name):
    record = recommending(**{name: 1})
    assert sql_of(record) is None


def test_an_option_is_set_by_its_variable_s_name():
    record = recommending(known=[], default_time_zone="+00:00")
    trials = [replace(trial, in_force={"time_zone": "SYSTEM"}) for trial in record.trials]
    assert done(replace(record, trials=trials)) == ["SET PERSIST time_zone = '+00:00';"]


def test_an_option_that_the_server_shows_as_no_variable_is_left_to_the_option_file():
    record = recommending(loose_thing=1)
    trials = [replace(trial, in_force={"version": "9.7.4"}) for trial in record.trials]
    assert sql_of(replace(record, trials=trials)) is None


def test_a_variable_that_the_baseline_alone_sets_goes_back_to_the_server_s_default():
    record = recommending(
        known=[DYNAMIC, Variable("sync_binlog", Kind.INTEGER, dynamic=True)],
        before={"sync_binlog": 0},
        innodb_io_capacity=2000,
    )
    assert done(record)[-2:] == ["RESET PERSIST IF EXISTS sync_binlog;", "SET GLOBAL sync_binlog = DEFAULT;"]
    assert undone(record)[-1] == "SET GLOBAL sync_binlog = 0;"


@pytest.mark.parametrize(
    ("before", "after", "first"),
    [((200, 2000), (5000, 10000), "innodb_io_capacity_max"), ((5000, 10000), (200, 400), "innodb_io_capacity")],
)
@pytest.mark.parametrize("turned", [False, True])
def test_a_limit_moves_out_of_the_way_first(before, after, first, turned):
    names = ("innodb_io_capacity", "innodb_io_capacity_max")
    wanted = list(zip(names, after, strict=True))
    setting = dict(wanted[::-1] if turned else wanted)
    record = recommending(before=dict(zip(names, before, strict=True)), **setting)
    assert sql_file.statements(record)[0].name == first
    taken_back, _ = tokens(sql_file.render_undo(record))
    assert taken_back[0].split()[-1] != first


def test_values_from_before_are_reported_as_unknown_where_they_are():
    record = recommending(known=[DYNAMIC], innodb_io_capacity=2000)
    assert undone(record) == ["RESET PERSIST IF EXISTS innodb_io_capacity;"]
    assert "to what recommended.sql printed." in reported(sql_file.render_undo(record))


@pytest.mark.parametrize("build", ["mysql@9.7.4", "mysql@5.6.24", "mariadb@11.4.5"])
def test_values_of_the_sandbox_are_never_set_by_undo_but_offered(build):
    record = in_sandboxes(recommending(build, [DYNAMIC], innodb_io_capacity=2000), innodb_io_capacity="200")
    text = sql_file.render_undo(record)
    assert not any(statement.startswith("SET") for statement in tokens(text)[0])
    assert "\n-- SET GLOBAL innodb_io_capacity = 200;\n" in text
    assert "taken back by the next start" in reported(text)
    assert "what the study's baseline ran with, not necessarily your server" in reported(text)
    assert "(the study's baseline ran with 200)" in sql_of(record)


def test_an_offered_value_stays_a_comment_and_reads_back_once_it_is_none():
    value = "it's \\ Grüße -- ; " + "x" * 200
    record = recommending(known=[Variable("init_connect", Kind.STRING, dynamic=True)], init_connect="")
    text = sql_file.render_undo(in_sandboxes(record, init_connect=value))
    assert value not in tokens(text)[1]
    assert value in tokens(text.replace("-- SET GLOBAL", "SET GLOBAL"))[1]
    assert text.index("SET NAMES") < text.index("NO_BACKSLASH_ESCAPES") < text.index("-- SET GLOBAL")


def test_values_of_an_attached_server_are_its_own_so_undo_sets_them():
    record = in_sandboxes(recommending(known=[DYNAMIC], innodb_io_capacity=2000), innodb_io_capacity="200")
    attached = replace(record, spec=record.spec.model_copy(update={"place": AttachedPlace()}))
    assert undone(attached) == ["RESET PERSIST IF EXISTS innodb_io_capacity;", "SET GLOBAL innodb_io_capacity = 200;"]
    assert "(was 200)" in sql_of(attached)


@pytest.mark.parametrize(
    ("known", "again"), [(DYNAMIC, "SET PERSIST"), (AT_START, "SET PERSIST_ONLY"), (Variable("x", Kind.UNKNOWN), "SET PERSIST")]
)
@pytest.mark.parametrize("is_given_back", [False, True])
def test_undo_reports_that_a_value_persisted_before_is_to_be_set_again(known, again, is_given_back):
    before = {known.name: 1}
    record = recommending(known=[known], before=before, **({"sync_binlog": 1} if is_given_back else {known.name: 2}))
    text = reported(sql_file.render_undo(record))
    assert "set again what recommended.sql printed under PERSISTED" in text
    assert f"{known.name}: where recommended.sql printed it under PERSISTED, {again} that value again." in text


def test_where_nothing_can_be_persisted_undo_reports_nothing_of_it():
    record = recommending("mariadb@11.4.5", [DYNAMIC], {"innodb_io_capacity": 200}, innodb_io_capacity=2000)
    assert "PERSIST" not in sql_file.render_undo(record)


@pytest.mark.parametrize(("limited", "limit"), option_file.PAIRS.items())
def test_a_variable_that_changes_without_its_limit_is_reported_with_it_and_both_are_shown(limited, limit):
    lower = (
        f"{limited}: if {limit} on your server is lower, raise it first; "
        "otherwise the server changes one of the two to fit the other."
    )
    higher = f"{limit}: if {limited} on your server is higher, lower it first;"
    for name, note in ((limited, lower), (limit, higher)):
        record = recommending(known=[], before={name: 10}, **{name: 50})
        assert note in reported(sql_of(record))
        for script in (sql_of(record), sql_file.render_undo(record)):
            assert all({limited, limit} <= set(tokens(line)[1]) for line in script.splitlines() if line.startswith("SHOW"))
    both = recommending(known=[], before={limited: 10, limit: 20}, **{limited: 50, limit: 90})
    assert "on your server is" not in reported(sql_of(both))


def test_the_html_report_has_the_statements_and_names_the_files():
    text = html.render(example_studies.winner())
    assert "SET PERSIST innodb_buffer_pool_instances = 16;" in text
    assert "undo.sql reverts them" in text
    assert "undo.sql" not in html.render(example_studies.no_difference())


def test_every_line_of_a_script_is_a_comment_or_one_whole_statement(record):
    for text in (sql_of(record), sql_file.render_undo(record)):
        for line in (text or "").splitlines():
            assert not line or line.startswith("--") or (WORDS.match(line) and line.endswith(";"))
