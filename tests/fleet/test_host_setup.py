"""A host gets what it lacks, and one that cannot run the study is refused with the reason; the agent is a real one."""

import json
import tempfile
from dataclasses import replace

import pytest

import dialin
from dialin.datasets.cache import StoredDataset
from dialin.fleet.host_agent import HostAgent
from dialin.fleet.host_setup import HostNeeds, UnfitHostError, set_up
from dialin.fleet.tree_copy import digest
from dialin.model.build import Build, Vendor
from dialin.model.cause import CauseCode
from dialin.paths import Home


@pytest.fixture
def here(tmp_path):
    """The coordinator's home: a build, prepared data, a driver."""
    home = Home(tmp_path / "here")
    build, data = home.builds / "mysql@9.7.4", home.datasets / "0123456789abcdef" / "data"
    (build / "bin").mkdir(parents=True)
    data.mkdir(parents=True)
    (build / "bin" / "mysqld").write_bytes(b"server")
    (data / "ibdata1").write_bytes(b"rows" * 5000)
    (data.parent / "dataset.json").write_text(json.dumps({"size": 20_000}))
    (tmp_path / "dialin-load").write_bytes(b"driver")
    (tmp_path / "dialin-load").chmod(0o755)
    return home


@pytest.fixture
def needs(here, spec, tmp_path):
    build = Build(Vendor.ORACLE, (9, 7, 4), here.builds / "mysql@9.7.4" / "bin" / "mysqld")
    directory = here.datasets / "0123456789abcdef"
    dataset = StoredDataset(directory.name, directory, 20_000)
    return HostNeeds(here, spec, [build], [dataset], driver=tmp_path / "dialin-load")


@pytest.fixture(autouse=True)
def _journals(monkeypatch, tmp_path):
    """Agents here are never stopped, and so leave the directories of their journals."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


class Calls:
    """Calls an agent, and remembers which methods; the process that runs trials is not started."""

    def __init__(self, home, **state):
        self.agent, self.made, self._state = HostAgent({"DIALIN_HOME": str(home), "DIALIN_LOAD": "none"}), [], state

    def __call__(self, method, *arguments):
        self.made.append((method, *arguments[:1]))
        if method == "start":
            return None
        answer = getattr(self.agent, method)(*arguments)
        return replace(answer, **self._state) if method == "state" else answer


def test_a_host_without_anything_gets_build_data_and_driver(needs, here, tmp_path):
    call, there = Calls(tmp_path / "there"), Home(tmp_path / "there")
    set_up(call, needs, "east")
    assert digest(there.builds / "mysql@9.7.4") == digest(here.builds / "mysql@9.7.4")
    assert digest(there.datasets / "0123456789abcdef") == digest(here.datasets / "0123456789abcdef")
    assert call.agent.driver_digest() == digest(needs.driver)
    assert call.made[-1][0] == "start"
    assert call.made[-1][1].host == "east"


def test_files_that_a_host_has_are_not_sent_again(needs, tmp_path):
    set_up(Calls(tmp_path / "there"), needs, "east")
    again = Calls(tmp_path / "there", builds=["mysql@9.7.4"])
    set_up(again, needs, "east")
    assert not [made for made in again.made if made[0] == "take"]


def test_data_of_another_content_is_replaced_unless_a_study_uses_it(needs, here, tmp_path):
    there = Home(tmp_path / "there")
    set_up(Calls(there.root), needs, "east")
    (there.datasets / "0123456789abcdef" / "data" / "ibdata1").write_bytes(b"other rows")
    call = Calls(there.root, builds=["mysql@9.7.4"])
    call.agent.drop_dataset = lambda key: False
    with pytest.raises(UnfitHostError) as refused:
        set_up(call, needs, "east")
    assert refused.value.cause.code is CauseCode.DATASET_IN_USE
    set_up(Calls(there.root, builds=["mysql@9.7.4"]), needs, "east")
    assert digest(there.datasets / "0123456789abcdef") == digest(here.datasets / "0123456789abcdef")


@pytest.mark.parametrize(
    ("state", "code", "words"),
    [
        ({"version": "0.0.9"}, CauseCode.OTHER_DIALIN, f"it has dialin 0.0.9, and the study runs with {dialin.__version__}"),
        ({"machine": "riscv64"}, CauseCode.OTHER_MACHINE, "it is a riscv64 machine"),
    ],
)
def test_a_host_that_cannot_run_the_study_is_refused_with_the_reason(needs, tmp_path, state, code, words):
    call = Calls(tmp_path / "there", **state)
    with pytest.raises(UnfitHostError, match=words) as refused:
        set_up(call, needs, "east")
    assert refused.value.cause.code is code
    assert [made[0] for made in call.made] == ["state"], "nothing was sent"


def test_a_build_that_dialin_did_not_install_cannot_be_copied(needs, tmp_path):
    elsewhere = Build(Vendor.ORACLE, (9, 7, 5), tmp_path / "usr" / "sbin" / "mysqld")
    with pytest.raises(UnfitHostError, match=r"it has no mysql@9\.7\.5"):
        set_up(Calls(tmp_path / "there"), HostNeeds(needs.home, needs.spec, [elsewhere], []), "east")


def test_nothing_is_written_outside_dialins_home(tmp_path):
    agent = HostAgent({"DIALIN_HOME": str(tmp_path / "there")})
    for place in ("../secret", "/etc/passwd", "builds/../../secret"):
        with pytest.raises(Exception, match="outside dialin's home"):
            agent.take(place, b"x", 1)
