"""The recommendation in the form that the settings came from: what a service or an operator takes."""

import json
import re
from dataclasses import replace

import pytest
import yaml

from dialin.apply import form_file
from dialin.model.study import FormKind, SettingForm
from dialin.report import files
from dialin.report.files import recommendation
from dialin.variables.catalogue import Kind, Variable
from fixtures import example_studies
from fixtures.changed_studies import recommending

IO = Variable("innodb_io_capacity", Kind.INTEGER, dynamic=True)
INSTANCES = Variable("innodb_buffer_pool_instances", Kind.INTEGER, dynamic=False)
GROUP = SettingForm(
    kind=FormKind.PARAMETER_GROUP,
    forbidden=("datadir",),
    computed={"innodb_buffer_pool_size": "{DBInstanceClassMemory*3/4}"},
    at_start=("innodb_buffer_pool_instances",),
    numbered=("innodb_adaptive_hash_index",),
)
RESOURCE = SettingForm(
    kind=FormKind.RESOURCE,
    place=("spec", "pxc", "configuration"),
    heading={"apiVersion": "pxc.percona.com/v1", "kind": "PerconaXtraDBCluster", "name": "shop-db"},
)
COMPOSE = SettingForm(kind=FormKind.COMPOSE, place=("services", "db", "command"))


def read_from(form, **setting):
    record = recommending(known=[IO, INSTANCES], before={"innodb_io_capacity": 200}, **setting)
    return replace(record, spec=record.spec.model_copy(update={"form": form}))


def written(record):
    found = recommendation(record, record.verdict)
    return found["recommended.json"], found["recommended.yaml"]


def test_a_parameter_group_gets_what_changes_as_plain_numbers_with_the_way_to_apply_each():
    text, other = written(
        read_from(
            GROUP,
            innodb_io_capacity=4000,
            innodb_buffer_pool_instances=4,
            join_buffer_size="1M",
            innodb_adaptive_hash_index="OFF",
        )
    )
    assert other is None
    assert json.loads(text) == {
        "Parameters": [
            {"ParameterName": "innodb_io_capacity", "ParameterValue": "4000", "ApplyMethod": "immediate"},
            {"ParameterName": "innodb_buffer_pool_instances", "ParameterValue": "4", "ApplyMethod": "pending-reboot"},
            {"ParameterName": "join_buffer_size", "ParameterValue": "1048576", "ApplyMethod": "pending-reboot"},
            {"ParameterName": "innodb_adaptive_hash_index", "ParameterValue": "0", "ApplyMethod": "pending-reboot"},
        ]
    }


def test_variables_that_the_service_computes_or_forbids_are_left_alone_and_said():
    record = read_from(GROUP, innodb_io_capacity=4000, innodb_buffer_pool_size="2G", datadir="/x")
    assert [one["ParameterName"] for one in json.loads(written(record)[0])["Parameters"]] == ["innodb_io_capacity"]
    said = "Not in it: innodb_buffer_pool_size and datadir, which the service computes or forbids."
    assert said in form_file.sentence(record)


def test_where_nothing_may_be_changed_there_is_no_file():
    record = read_from(GROUP, innodb_io_capacity=200, innodb_buffer_pool_size="2G")
    assert written(record) == (None, None)


def test_a_parameter_that_goes_back_to_its_default_is_reset_not_set():
    record = read_from(GROUP, innodb_buffer_pool_instances=4)
    assert [one["ParameterName"] for one in json.loads(written(record)[0])["Parameters"]] == ["innodb_buffer_pool_instances"]
    assert "Reset innodb_io_capacity there, so that the default applies." in form_file.sentence(record)


def test_a_resource_gets_a_fragment_with_its_own_heading():
    _, text = written(read_from(RESOURCE, innodb_io_capacity=4000, sql_mode="A,B"))
    fragment = yaml.safe_load(text)
    assert (fragment["apiVersion"], fragment["kind"]) == ("pxc.percona.com/v1", "PerconaXtraDBCluster")
    assert fragment["metadata"] == {"name": "shop-db"}
    assert fragment["spec"]["pxc"]["configuration"].splitlines() == [
        "[mysqld]", "innodb_io_capacity = 4000", "sql_mode = A,B"
    ]  # fmt: skip
    assert "# These are the lines of spec.pxc.configuration that change" in text


def test_a_compose_file_gets_the_options_of_the_command():
    _, text = written(read_from(COMPOSE, innodb_io_capacity=4000, init_connect="SET @a = '$x'"))
    assert yaml.safe_load(text) == {
        "services": {"db": {"command": ["--innodb-io-capacity=4000", "--init-connect=SET @a = '$$x'"]}}
    }


@pytest.mark.parametrize("form", [GROUP, RESOURCE, COMPOSE])
def test_hostile_names_and_values_stay_text(form):
    hostile = form.model_copy(update={"place": ("a: [", "b\n- c"), "heading": {"kind": "x: {", "name": "'\n"}})
    for text in written(read_from(hostile, innodb_io_capacity=4000, init_connect="x: [#\u202e")):
        if text is not None:
            assert yaml.safe_load(text)


def test_the_report_names_the_file_and_one_of_an_earlier_verdict_is_gone_later(tmp_path):
    record = example_studies.winner()
    files.write_all(replace(record, spec=record.spec.model_copy(update={"form": GROUP})), tmp_path)
    assert "innodb_buffer_pool_instances" in (tmp_path / "recommended.json").read_text()
    assert "recommended.json has them for aws rds" in " ".join(
        re.sub("<[^>]+>", "", (tmp_path / "report.html").read_text()).split()
    )
    files.write_all(record, tmp_path)
    assert not (tmp_path / "recommended.json").exists()
