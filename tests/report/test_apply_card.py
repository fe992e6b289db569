"""What a reader copies holds every caution and every variable that only a start can set, in every form of the report."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from dialin.report.render import html, markdown
from dialin.report.render.terminal import print_verdict
from dialin.variables.catalogue import Kind, Variable
from fixtures import example_studies
from fixtures.changed_studies import recommending
from fixtures.report_page import Page

START_ONLY = Variable("innodb_log_buffer_size", Kind.INTEGER, dynamic=False)
AT_ONCE = Variable("innodb_io_capacity", Kind.INTEGER, dynamic=True)


def recommended(build="mysql@9.7.4", known=(), **setting):
    """Return a study that recommends a setting; only trials of its candidates are in it."""
    record = recommending(build, known, **setting)
    names = {one.name for one in record.spec.candidates}
    names &= {one.name for one in record.verdict.candidates}
    spec = record.spec.model_copy(update={"candidates": tuple(one for one in record.spec.candidates if one.name in names)})
    return replace(record, spec=spec, trials=[trial for trial in record.trials if trial.candidate in names])


def card(record):
    page = Page(html.render(record)).words
    return page[page.index("What to set") : page.index("How sure, and caveats")]


def terminal(record):
    written = io.StringIO()
    print_verdict(record, Console(file=written, width=100))
    return " ".join(written.getvalue().split())


@pytest.mark.parametrize("build", ["mysql@9.7.4", "mysql@5.6.51", "mariadb@10.11.18"])
def test_a_variable_that_only_a_start_can_set_is_in_the_sql_and_said(build):
    record = recommended(build, [START_ONLY, AT_ONCE], innodb_log_buffer_size="64M", innodb_io_capacity=2000)
    for text in (card(record), " ".join(markdown.render(record).split()), terminal(record)):
        assert "innodb_log_buffer_size" in text
        assert "only a start can set it" in text
        assert "restart" in text
        assert "needed, for innodb_log_buffer_size" in text
        assert "innodb_io_capacity_max on your server is lower, raise it first" in text
    sql = card(record).partition("SQL for a running server")[2]
    assert "-- innodb_log_buffer_size" in sql
    assert ("SET PERSIST_ONLY innodb_log_buffer_size" in sql) is build.startswith("mysql@9")


def test_variables_that_a_running_server_takes_need_no_restart():
    record = recommended(known=[Variable("max_connections", Kind.INTEGER, dynamic=True)], max_connections=500)
    assert "restart not needed" in card(record)
    assert "durability not weaker than the baseline's" in card(record)
    assert "Caution" not in card(record)


def test_the_loss_of_durability_is_said_before_it_is_copied():
    record = example_studies.weaker_durability()
    chosen = record.verdict.candidates[1].name
    accepted = record.verdict.model_copy(
        update={"recommended_candidate": chosen, "recommended": dict(record.spec.candidate(chosen).setting)}
    )
    text = card(replace(record, verdict=accepted))
    assert "Caution: weaker durability (innodb_flush_log_at_trx_commit): a crash of the machine can lose" in text
    assert "durability weaker than the baseline's: a crash of the machine can lose" in text


def test_nothing_to_set_has_no_card():
    assert "restart" not in card(example_studies.no_difference())
