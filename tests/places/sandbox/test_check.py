"""Which server a trial of a study on sandboxes gets."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from dialin.datasets.cache import StoredDataset
from dialin.datasets.restore import KeptData
from dialin.errors import ServerError, UserError
from dialin.model.build import Build, Image, Vendor
from dialin.model.study import Switch
from dialin.model.trial import Purpose, Trial, TrialState
from dialin.places.sandbox.check import check_disk
from dialin.places.sandbox.shared_sandbox import SharedStage
from dialin.places.sandbox.site import Sandboxes, SandboxStage
from dialin.servers.ledger import Ledger

BUILD = Build(Vendor.ORACLE, (9, 7, 4), Path("/mysqld"))
PREPARER = SimpleNamespace(
    prepared=lambda *asked: SimpleNamespace(data=Path("/data"), size=1),
    in_use=lambda dataset: nullcontext(),
    make_room=lambda directory, size: None,
)


def trial(purpose):
    return Trial(0, 1, 1, 1, "4", TrialState.RUNNING, 0.0, purpose=purpose)


@pytest.fixture
def sandboxes(spec, home, clock):
    asked = spec.model_copy(update={"waits": "hash_table_locks", "switch": Switch.SET, "fixed": {"performance_schema": "OFF"}})
    home.sandboxes.mkdir(parents=True)
    preparer = SimpleNamespace(telling=lambda say: PREPARER)
    tools = SimpleNamespace(home=home, clock=clock, ledger=None, preparer=preparer, snapshot_command=None, kept=KeptData())
    load = SimpleNamespace(temporary_bytes=lambda: 0, how_to_shrink="", copied_data=None, needs_port=False)
    return Sandboxes(asked, {"mysql@9.7.4": BUILD}, load, tools)


def test_a_trial_for_waits_has_its_candidates_setting_and_instruments_whatever_was_asked(sandboxes):
    with sandboxes.open(print) as site:
        options = site.stage(trial(Purpose.WAITS))._options
        plain = site.stage(trial(Purpose.RACE))._options
    assert options["innodb_buffer_pool_instances"] == 4
    assert options["performance_schema"] == "ON"
    assert options["performance_schema_events_waits_history_long_size"] > 0
    assert plain["performance_schema"] == "OFF"
    assert not any("waits" in name for name in plain)


def test_where_trials_share_a_server_those_for_waits_have_their_own_and_the_shared_one_has_gone(sandboxes, monkeypatch):
    ended = []

    def end(lives):
        ended.append(lives)

    monkeypatch.setattr("dialin.places.sandbox.site.SharedSandbox.end", end)
    changes = SimpleNamespace(boot={})
    with replace(sandboxes, changes=changes).open(print) as site:
        assert isinstance(site.stage(trial(Purpose.CONFIRM)), SharedStage)
        assert not ended
        own = site.stage(trial(Purpose.WAITS))
        assert isinstance(own, SandboxStage)
        assert own._options["innodb_buffer_pool_instances"] == 4
        assert len(ended) == 1


def test_a_snapshot_command_takes_the_data_before_the_first_trial_whose_time_it_would_be(sandboxes, home, tmp_path):
    script, said = tmp_path / "snapshot.sh", []
    script.write_text('#!/bin/sh\necho "$1" >>"$0.calls"\n')
    script.chmod(0o755)
    dataset = StoredDataset("key", tmp_path, 1)
    fake = SimpleNamespace(prepared=lambda *_: dataset, in_use=lambda _: nullcontext(), make_room=lambda *_: None)
    preparer, tools = SimpleNamespace(telling=lambda _: fake), sandboxes.tools
    tools.preparer, tools.ledger, tools.snapshot_command = preparer, Ledger(home.ledger), str(script)
    with sandboxes.open(said.append):
        assert (tmp_path / "snapshot.sh.calls").read_text() == "take\n", "once for all candidates with this data"
    assert (tmp_path / "snapshot.sh.calls").read_text() == "take\nremove\n"
    assert said == ["Your snapshot command takes the prepared data"]


def test_a_link_that_leads_nowhere_in_a_container_is_the_command_s_fault_and_no_candidate_s(sandboxes, monkeypatch, tmp_path):
    def take(_dataset, target):
        target.symlink_to(tmp_path)

    with sandboxes.open(print) as site:
        stage = site._sandbox("4", {})
    stage.build = replace(BUILD, image=Image("podman", "mysql:9.7", "0123", "/mysqld"))
    stage._data = SimpleNamespace(take=take)
    private = SimpleNamespace(data=tmp_path / "data", boot=lambda *_, **__: pytest.fail("no server can start"))
    monkeypatch.setattr("dialin.places.sandbox.site.Sandbox.create", lambda *_, **__: private)
    with pytest.raises(UserError, match="snapshot command made a link"):
        list(stage.ready())


@pytest.mark.parametrize("ended", [True, False])
def test_data_is_kept_for_the_next_trial_only_where_it_is_certain_that_the_server_has_ended(sandboxes, ended):
    kept, removed = [], []
    with sandboxes.open(print) as site:
        stage = site._sandbox("4", {})
        stage._data = SimpleNamespace(keep=lambda dataset, data: kept.append(data))
        stage._sandbox = SimpleNamespace(
            kill=lambda: None, has_certainly_ended=lambda: ended, data=Path("/data"), remove=lambda: removed.append(1)
        )
        stage.end(well=True)
    assert (kept, removed) == ([Path("/data")] * ended, [1])


def test_temporary_files_of_trials_must_fit_beside_the_data(sandboxes, monkeypatch):
    needed = []
    for module in ("dialin.places.sandbox.check", "dialin.places.sandbox.site"):
        monkeypatch.setattr(f"{module}.check_space", lambda directory, size, *_: needed.append(size))
    preparer = SimpleNamespace(
        prepared=lambda *asked: SimpleNamespace(size=5000),
        in_use=lambda dataset: nullcontext(),
        make_room=lambda directory, size: None,
    )
    tools = SimpleNamespace(
        home=sandboxes.tools.home, ledger=None, clock=None, preparer=SimpleNamespace(telling=lambda say: preparer)
    )
    tools.snapshot_command, tools.kept, tools.preparer.room_needed = None, KeptData(), lambda *_: (0, 1000)
    tools.preparer.removable = lambda *_: 0
    for temporary in (0, 700):
        workload = SimpleNamespace(temporary_bytes=lambda much=temporary: much, how_to_shrink="", expected_bytes=lambda: 1000)
        check_disk(tools, [(workload, [])])
        with replace(sandboxes, workload=workload, tools=tools).open(print):
            pass
    before_plain, trial_plain, before, trial_sorting = needed
    assert (before - before_plain, trial_plain, trial_sorting) == (700, 5000, 5700)


def test_prepared_data_that_could_go_makes_no_room_on_another_disk(home, monkeypatch):
    lacking, copied, removable, free = 500, 1000, 10_000, {"datasets": 0, "sandboxes": 0}
    preparer = SimpleNamespace(room_needed=lambda *_: (lacking, copied), removable=lambda *_: removable)
    needed = [(SimpleNamespace(temporary_bytes=lambda: 0, how_to_shrink="", expected_bytes=lambda: 1000), [])]
    tools = SimpleNamespace(home=home, preparer=preparer, snapshot_command=None)
    module = "dialin.datasets.cache"
    monkeypatch.setattr(f"{module}.shutil.disk_usage", lambda path: SimpleNamespace(free=free[path.name]))
    for path in (home.datasets, home.sandboxes):
        path.mkdir(parents=True)
    check_disk(tools, needed)
    monkeypatch.setattr("dialin.places.sandbox.check.share_disk", lambda *_: False)
    with pytest.raises(UserError, match="sandboxes has"):
        check_disk(tools, needed)
    free["sandboxes"] = 1200
    check_disk(tools, needed)
    removable = 400
    with pytest.raises(UserError, match="datasets has"):
        check_disk(tools, needed)


def test_what_could_not_be_removed_at_the_end_hides_no_other_error(sandboxes, monkeypatch):
    def fail(_data):
        raise UserError("The snapshot is still mounted")

    monkeypatch.setattr("dialin.places.sandbox.site.TrialData.end", fail)
    said = []
    with pytest.raises(ServerError, match="died"), sandboxes.open(said.append):
        raise ServerError("It died")
    assert said == ["Not removed: what restored the data of trials. The snapshot is still mounted"]
    with pytest.raises(UserError, match="still mounted"), sandboxes.open(said.append):
        pass
