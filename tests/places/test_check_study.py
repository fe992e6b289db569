import pytest

from dialin.errors import UserError
from dialin.model.place import AttachedPlace, LivePlace, Restore, RestoreWay, SandboxPlace
from dialin.model.trial import Step, Trial, TrialState
from dialin.places import check_study
from dialin.places.permission import Permission
from dialin.store.store import Store
from dialin.trials.tools import Tools
from dialin.workloads import load_identity
from dialin.workloads.sysbench import Sysbench
from fixtures.simulated_servers import SimulatedServers, tune_spec
from fixtures.tuned import run_tune


@pytest.mark.parametrize("minutes", [0.01, 20_000, float("nan"), -1])
def test_a_budget_that_cannot_be_is_refused_and_the_study_keeps_its_own(tmp_path, spec, monkeypatch, minutes):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}).close()
    with pytest.raises(UserError, match="minutes"):
        check_study.check_resume(tmp_path, Tools.open(print), minutes=minutes)
    with Store.open(tmp_path) as store:
        assert store.spec == spec


def test_a_budget_below_what_was_spent_is_refused(tmp_path, spec, monkeypatch):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    with Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}) as store:
        trial = Trial(1, 1, 1, 1, "1", TrialState.DONE, 0.0, steps={Step.WAIT: 6000.0, Step.MEASURE: 120.0})
        store.begin_trial(trial)
        store.save_trial(trial)
    with pytest.raises(UserError, match=r"--minutes 1 is less than the 2\.0 minutes that the study has used"):
        check_study.check_resume(tmp_path, Tools.open(print), minutes=1)


def test_a_tune_that_gets_more_minutes_counts_the_proof_that_it_had(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    _, record = run_tune(tmp_path / "tune", SimulatedServers(), tune_spec(9))
    seen = []
    monkeypatch.setattr(check_study, "check_cpus", seen.append)

    def stop(_):
        raise UserError("this is far enough", "Go on")

    for minutes in (None, 16):
        with pytest.raises(UserError, match="far enough"):
            check_study.check_resume(tmp_path / "tune", Tools.open(print), minutes=minutes, make_workload=stop)
    same, longer = seen
    assert (same.question.searched, same.proofs) == (0, 1)
    assert (longer.question.searched, longer.proofs) == (len(record.course.asks), 2)


@pytest.mark.parametrize("option", ["server_cpus", "load_cpus"])
def test_a_study_whose_cpus_are_gone_is_not_resumed(tmp_path, spec, monkeypatch, option):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    asked = spec.model_copy(update={option: "4095"})
    Store.create(tmp_path, asked, created=0, dialin_version="0", command="", host={}, servers={}).close()
    with pytest.raises(UserError, match="this machine has no CPU 4095"):
        check_study.check_resume(tmp_path, Tools.open(print))


class Script(Sysbench):
    """A script of one's own where no sysbench is needed to look at it."""

    def check(self):
        pass

    def version(self):
        return "sysbench 1.0.20"


@pytest.fixture
def scripted(tmp_path, spec):
    """A study of a script of one's own that has begun, and the script."""
    script = tmp_path / "load" / "mine.lua"
    script.parent.mkdir()
    script.write_text("-- one")
    asked = spec.model_copy(update={"workload": spec.workload.model_copy(update={"name": str(script)})})
    begun = load_identity.facts(Script(asked.workload))
    Store.create(tmp_path, asked, created=0, dialin_version="0", command="", host=begun, servers={}).close()
    return script


@pytest.mark.parametrize("changed", ["mine.lua", "beside.lua"])
def test_a_study_does_not_go_on_with_another_load_than_it_began_with(tmp_path, monkeypatch, scripted, changed):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    (scripted.parent / changed).write_text("-- two")
    with pytest.raises(UserError, match=r"has changed since the study started.*restore the file"):
        check_study.check_resume(tmp_path, Tools.open(print), make_workload=Script)


def test_a_load_that_is_as_it_was_does_not_keep_a_study_from_going_on(tmp_path, monkeypatch, scripted):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    with pytest.raises(UserError, match=r"mysql@9\.7\.4"):  # its build is what is missing
        check_study.check_resume(tmp_path, Tools.open(print), make_workload=Script)


@pytest.mark.parametrize(
    ("place", "command", "says"),
    [
        (AttachedPlace(), "snapshot.sh", "--snapshot-command is for servers that dialin starts"),
        (LivePlace(), "snapshot.sh", "--snapshot-command is for servers that dialin starts"),
        (SandboxPlace(), "", "The snapshot command is empty"),
        (SandboxPlace(), "snapshot.sh 'tank", "The snapshot command cannot be read"),
    ],
)
def test_a_snapshot_command_is_for_sandboxes_and_must_be_readable(place, command, says):
    with pytest.raises(UserError, match=says):
        Permission(snapshot_command=command).check(place)
    Permission(snapshot_command="snapshot.sh 'tank/my data'").check(SandboxPlace())


@pytest.mark.parametrize(
    ("way", "command", "says"),
    [
        (RestoreWay.SNAPSHOT, None, r"is restored by a snapshot command.*Give --snapshot-command"),
        (RestoreWay.PAGES, "snapshot.sh", r"was started without --snapshot-command"),
        (RestoreWay.SNAPSHOT, "snapshot.sh", r"mysql@9\.7\.4"),  # its build is what is missing
    ],
)
def test_the_trials_of_a_study_that_goes_on_have_their_data_from_where_the_earlier_ones_had_it(
    tmp_path, monkeypatch, spec, way, command, says
):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    asked = spec.model_copy(update={"place": SandboxPlace(restore=Restore(way=way, seconds=1))})
    begun = load_identity.facts(Script(asked.workload))
    Store.create(tmp_path, asked, created=0, dialin_version="0", command="", host=begun, servers={}).close()
    permission = Permission(snapshot_command=command)
    with pytest.raises(UserError, match=says):
        check_study.check_resume(tmp_path, Tools.open(print), make_workload=Script, permission=permission)
