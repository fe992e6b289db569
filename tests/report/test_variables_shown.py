from dataclasses import replace

from dialin.report.document.variables_shown import differing, not_default
from dialin.report.render import html
from dialin.variables.catalogue import Catalogue, Kind, Variable, excerpt
from fixtures import example_studies
from fixtures.report_page import Page
from fixtures.study_builder import HOSTILE, VARIABLE

FILLER = {f"filler_{number}": str(number) for number in range(80)}


def known(**defaults):
    """A build's catalogue, as the store keeps it: its defaults, and enough other variables to be whole."""
    everything = {"version": "9.7.4", **FILLER, **defaults}
    found = {name: Variable(name, Kind.STRING, default=value, dynamic=True) for name, value in everything.items()}
    return excerpt(Catalogue("mysql@9.7.4", found), [VARIABLE])


def in_force(record, **values):
    trials = [replace(trial, in_force={**FILLER, **trial.in_force, **values}) for trial in record.trials]
    return replace(record, trials=trials)


def test_requested_variables_stand_before_others_that_differed():
    record = example_studies.no_difference()
    trials = [
        replace(trial, in_force={**trial.in_force, "innodb_page_cleaners": "4" if trial.candidate == "16" else "1"})
        for trial in record.trials
    ]
    found = differing(replace(record, trials=trials))
    assert [(one.name, one.under_test) for one in found] == [(VARIABLE, True), ("innodb_page_cleaners", False)]
    assert found[1].values == [("1", "1, 4"), ("4", "16")]


def test_only_what_is_not_at_its_default_is_reported():
    record = in_force(example_studies.winner(), innodb_log_buffer_size="16777216")
    catalogue = known(
        innodb_log_buffer_size="67108864", innodb_flush_log_at_trx_commit="1", innodb_buffer_pool_size="134217728"
    )
    (found,) = not_default(replace(record, catalogues={"mysql@9.7.4": catalogue}))
    assert found.rows == [
        ("innodb_buffer_pool_size", "128M", "8G"),
        ("innodb_log_buffer_size", "64M", "16M"),
    ]
    assert found.candidate == f"{VARIABLE} = 1"


def test_an_instance_s_own_directories_are_no_change():
    record = in_force(example_studies.winner(), datadir="/home/x/.cache/dialin/sandboxes/7/data/", port="3999")
    catalogue = known(datadir="/home/x/.cache/dialin/sandboxes/1/data/", port="3306")
    (found,) = not_default(replace(record, catalogues={"mysql@9.7.4": catalogue}))
    assert found.rows == []


def test_hostile_values_are_text():
    record = in_force(example_studies.hostile(), init_connect=HOSTILE)
    page = Page(html.render(replace(record, catalogues={"mysql@9.7.4": known(init_connect="")})))
    assert page.misnested == []
    assert "Variables not at their default" in page.words
    assert not set("".join(page.text)) & {"\x1b", "\x07", "\u202e"}


def test_a_study_of_which_nothing_ran_differed_in_nothing():
    assert differing(replace(example_studies.winner(), trials=())) == []
    assert not_default(replace(example_studies.winner(), trials=(), catalogues={"mysql@9.7.4": known()})) == []
