"""What cannot run on a fleet is refused before anything is started."""

import sys

import pytest

from dialin.errors import UserError
from dialin.fleet.fleet_choice import FleetChoice, check_fleet

AUTO = FleetChoice("auto")


@pytest.fixture
def without_ray(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)


@pytest.mark.parametrize(
    ("choice", "what", "words"),
    [
        (AUTO, {"attached": True, "tune": False}, "--attach measures a server that is already there"),
        (AUTO, {"attached": False, "tune": True}, "A tune runs on one host"),
        (AUTO, {"attached": False, "tune": False, "snapshots": True}, "--snapshot-command restores data on this machine"),
        (FleetChoice("local", 2), {"attached": False, "tune": False}, "--fleet-hosts needs --fleet"),
    ],
)
def test_a_study_that_a_fleet_cannot_run_is_refused(choice, what, words):
    with pytest.raises(UserError, match=words):
        check_fleet(choice, **what)


def test_without_ray_the_remedy_is_to_install_it(without_ray):
    with pytest.raises(UserError, match=r"pipx inject dialin 'ray\[default\]'"):
        check_fleet(AUTO, attached=False, tune=False)


def test_one_host_needs_no_ray(without_ray):
    check_fleet(FleetChoice(), attached=True, tune=True)
