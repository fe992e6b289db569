import io
import json

import jsonschema
import pytest
from rich.console import Console

from dialin import json_documents
from dialin.advice.commands import capture_command, with_command
from dialin.advice.experiments import find_experiments
from dialin.advice.rules import RULES
from dialin.evidence.reasons import sources
from dialin.model.advice import Advice, Experiment, Studied, UnreadCode, Watch
from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.model.fitness import Finding, Severity
from dialin.question.options import StudyOptions
from dialin.report.render.terminal_advice import print_advice
from dialin.sentences import advice_sentences
from fixtures.readings import MIB, server
from fixtures.real_catalogues import real_catalogue

UNREAD = (
    advice_sentences.unread_by_probe(
        ProbeNote(ProbeNoteCode.NO_PRIVILEGE, {"source": "SHOW ENGINE INNODB STATUS", "privilege": "PROCESS"})
    ),
    advice_sentences.unread_defaults("mysql@8.0"),
    *map(advice_sentences.unread, (UnreadCode.MACHINE, UnreadCode.DATA, UnreadCode.SOME_DATA, UnreadCode.AT_START)),
    advice_sentences.unread_load(0.2),
)


@pytest.fixture
def advice() -> Advice:
    reading = server(
        "mysql@5.6.24",
        per_second={
            "Questions": 1000.0, "Com_update": 500.0, "Innodb_os_log_written": 1.0 * MIB, "Select_full_join": 9.0,
            "Innodb_buffer_pool_reads": 90.0, "Innodb_buffer_pool_read_requests": 900.0,
            "Created_tmp_disk_tables": 8.0, "Created_tmp_tables": 10.0,
        },
        innodb={"checkpoint_age": 80 * MIB},
        defaults={"innodb_io_capacity": "200"},
        innodb_io_capacity="900",
    )  # fmt: skip
    found = find_experiments(reading)
    question = StudyOptions(attach=True, tune=[], workload="oltp_write_only")
    commands = [with_command(one, question, "mysql@5.6", 134217728) for one in found.experiments]
    return Advice(
        server="mysql@5.6.24",
        place="dialin at db1:3306",
        watch=Watch(seconds=60, queries=1000, running=3.5, data=2.0**30),
        experiments=tuple(commands),
        silent=found.silent,
        unread=UNREAD,
        machine=(Finding("turbo", "on", Severity.NOTICE),),
    )


def test_every_rule_has_a_source_and_a_sentence_also_where_only_its_own_figure_is_known():
    for rule in RULES:
        assert rule.source
        assert len(rule.text(1.0, server(per_second={}))) > 20


def test_the_terminal_has_reason_figure_source_and_command_of_each(advice):
    text = io.StringIO()
    print_advice(advice, Console(file=text, width=100))
    shown = text.getvalue()
    assert shown.startswith(f"{len(advice.experiments)} variables worth an experiment")
    assert "The checkpoint age reached 117.6 % of that from which pages are flushed to free the redo log" in " ".join(
        shown.split()
    )
    assert "MySQL 8.4 manual" in shown
    assert "the experiment decides" in shown
    assert "The account lacks PROCESS" in shown
    assert "(turbo)" in shown
    for one in advice.experiments:
        assert one.command in shown


def test_no_experiment_is_said_in_one_line(advice):
    text = io.StringIO()
    print_advice(advice.model_copy(update={"experiments": (), "unread": (), "machine": ()}), Console(file=text, width=80))
    assert text.getvalue().startswith("No figure of this server speaks for an experiment.")
    assert "gain" not in text.getvalue()


def test_the_json_has_the_sentences_and_keeps_to_its_schema(advice, pytestconfig):
    document = json.loads(json_documents.render(advice))
    schema = json.loads((pytestconfig.rootpath / "schema/advice.schema.json").read_text())
    jsonschema.validate(document, schema)
    triggers = [trigger for one in document["experiments"] for trigger in one["triggers"]]
    assert all(trigger["text"].endswith((".", "?.")) and trigger["source"] for trigger in triggers)
    assert all(one["text"] for one in document["unread"])


def _experiment(name: str, **more) -> Experiment:
    trigger = {"code": "full_joins", "weight": "work", "figure": 1.0, "source": "a page", "text": "Why."}
    fields = {"now": 200, "values": (400, 800), "at_start": False, "triggers": (trigger,), **more}
    return Experiment(variable=name, **fields)


@pytest.mark.parametrize(
    ("experiment", "options", "command"),
    [
        # what an attached server has now is a candidate anyway
        (_experiment("innodb_io_capacity"), {"attach": True, "defaults-file": "db1.cnf", "threads": "4"},
         "dialin sweep innodb_io_capacity=400,800 --attach --defaults-file db1.cnf --workload oltp_read_write --threads 4"),
        (_experiment("tmp_table_size", now=MIB, values=(4 * MIB,), beside={"max_heap_table_size": 4 * MIB}), {"attach": True},
         "dialin sweep tmp_table_size=4M --attach --set max_heap_table_size=4M --workload oltp_read_write"),
        # what takes a start is compared on a sandbox, with the pool of the server
        (_experiment("innodb_flush_method", now="", values=("O_DIRECT",), at_start=True), {"attach": True},
         "dialin sweep innodb_flush_method=fsync,O_DIRECT --server mysql@9.7 --set innodb_buffer_pool_size=128M "
         "--workload oltp_read_write"),
        (_experiment("innodb_io_capacity"), {"server": "mysql@9.7", "set": {"innodb_io_capacity": 200, "sync_binlog": 0},
                                             "tables": 2, "workload-options": {"range-size": 10}},
         "dialin sweep innodb_io_capacity=200,400,800 --server mysql@9.7 --set sync_binlog=0 --workload oltp_read_write "
         "--tables 2 --workload-option range-size=10"),
        (_experiment("innodb_io_capacity"), {"server": "image:mysql:9.7", "server-memory": "2G", "server-cpus": "1.5"},
         "dialin sweep innodb_io_capacity=200,400,800 --server mysql@9.7 --server-memory 2G --server-cpus 1.5 "
         "--workload oltp_read_write"),
    ],
)  # fmt: skip
def test_the_command_tests_the_experiment(experiment, options, command):
    question = StudyOptions.model_validate({"tune": [], **options})
    assert with_command(experiment, question, "mysql@9.7", 134217728).command == command


@pytest.mark.parametrize(
    ("experiment", "studied", "command"),
    [
        (_experiment("innodb_lru_scan_depth", values=(1, 2, 3, 4)), Studied.TRAFFIC,
         "dialin sweep innodb_lru_scan_depth=1,2,3 --attach --defaults-file db1.cnf --traffic own"),
        (_experiment("innodb_buffer_pool_size", now=MIB, values=(4 * MIB,)), Studied.TRAFFIC,
         "dialin sweep innodb_buffer_pool_size=4M --attach --defaults-file db1.cnf --traffic own --accept-resizing"),
        # a start, a variable that is refused on a live server, and one that another limits: their statements on a sandbox
        (_experiment("innodb_read_io_threads", now=4, values=(8,), at_start=True), Studied.REPLAY,
         "dialin sweep innodb_read_io_threads=4,8 --server mysql@9.7 --set innodb_buffer_pool_size=128M "
         "--workload capture:server.capture --data DIR"),
        (_experiment("innodb_redo_log_capacity", now=MIB, values=(4 * MIB,)), Studied.REPLAY,
         "dialin sweep innodb_redo_log_capacity=1M,4M --server mysql@9.7 --set innodb_buffer_pool_size=128M "
         "--workload capture:server.capture --data DIR"),
    ],
)  # fmt: skip
def test_no_command_puts_a_load_on_a_server_that_clients_use(experiment, studied, command):
    question = StudyOptions.model_validate({"tune": [], "attach": True, "defaults-file": "db1.cnf"})
    result = with_command(experiment, question, "mysql@9.7", 134217728, in_use=True)
    assert (result.studied, result.command) == (studied, command)
    assert capture_command(question) == "dialin capture start --attach --defaults-file db1.cnf --out server.capture"


@pytest.mark.parametrize(
    ("in_use", "studied"), [(False, Studied.MANAGED), (True, Studied.REPLAY)]
)  # fmt: skip
def test_an_account_that_may_not_set_variables_gets_no_command_that_sets_them(in_use, studied):
    question = StudyOptions.model_validate({"tune": [], "attach": True})
    result = with_command(_experiment("innodb_io_capacity"), question, "mysql@9.7", 134217728, in_use=in_use, may_set=False)
    assert result.studied is studied
    assert ("--apply-command COMMAND" in result.command) is not in_use
    assert ("--server mysql@9.7" in result.command) is in_use


def test_every_place_of_a_command_is_explained():
    assert set(advice_sentences.STUDIED) == set(Studied)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_advice_on_mariadb_names_mariadbs_own_manual(rule):
    if any(name in real_catalogue("mariadb@10.11.19").variables for name in rule.variables):
        source = sources.in_mariadb(rule.source)
        assert "mariadb.com/kb/en/" in source or "kernel.org" in source
        assert "mysql" not in source.lower()


def test_the_source_of_a_rule_of_thumb_is_mariadbs_too():
    assert sources.in_mariadb("MySQL manual, The MyISAM Key Cache") == (
        "Optimizing key_buffer_size, MariaDB documentation, mariadb.com/kb/en/optimizing-key_buffer_size"
    )
    assert sources.in_mariadb("MySQL manual, Optimizing InnoDB Redo Logging; ours").endswith("innodb-redo-log; ours")
