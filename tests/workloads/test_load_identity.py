"""Two loads never enter one verdict unnoticed."""

from __future__ import annotations

import pytest

from dialin.errors import UserError
from dialin.model.workload import WorkloadSpec
from dialin.workloads import load_identity
from dialin.workloads.dialin_load import DialinLoad
from fixtures.studies import study

OLD, NEW = "dialin-load 0.1.0", "dialin-load 0.2.0"


@pytest.fixture
def mine(tmp_path):
    """A study of a workload file, its load, and the file."""
    file = tmp_path / "mine.toml"
    file.write_text("a = 1")
    spec = study({"a": {}, "b": {}}, workload=WorkloadSpec(name=str(file), kind="dialin-load"))
    return spec, DialinLoad(spec.workload), file


def test_a_workload_file_that_was_edited_is_refused_until_it_is_back(mine):
    spec, load, file = mine
    begun = {"load_file_digest": load.digest()}
    load_identity.check(spec, begun, load)
    file.write_text("a = 2")
    with pytest.raises(UserError, match=r"mine\.toml has changed since the study started"):
        load_identity.check(spec, begun, load)
    file.write_text("a = 1")
    load_identity.check(spec, begun, load)


def test_a_workload_file_that_is_gone_is_refused(mine):
    spec, load, file = mine
    begun = {"load_file_digest": load.digest()}
    file.unlink()
    with pytest.raises(UserError, match=r"mine\.toml cannot be read"):
        load_identity.check(spec, begun, load)


def test_the_same_driver_is_not_reported_of():
    begun = {"load_driver": OLD}
    assert load_identity.later_driver_facts(begun, OLD) == load_identity.later_driver_facts({}, NEW) == {}
    assert load_identity.notes(begun) == []


def test_another_build_of_the_same_version_is_another_driver():
    begun = {"load_driver": f"{OLD}+5f"}
    assert load_identity.later_driver_facts(begun, f"{OLD}+60") == {"load_driver_later": [f"{OLD}+60"]}


def test_each_driver_that_went_on_is_reported_in_its_order():
    begun = {"load_driver": OLD}
    begun |= load_identity.later_driver_facts(begun, NEW)
    assert load_identity.later_driver_facts(begun, NEW) == {}
    (note,) = load_identity.notes(begun)
    assert f"{OLD} applied the load at first, and {NEW} after the study was resumed" in note.sentence(study({"a": {}, "b": {}}))
    begun |= load_identity.later_driver_facts(begun, OLD)
    assert load_identity.notes(begun)[0].drivers == (OLD, NEW, OLD)
