import pytest

from dialin.errors import UserError
from dialin.store.store import Store
from dialin.study import launch
from dialin.study.workshop import Workshop


@pytest.mark.parametrize("minutes", [0.01, 20_000, float("nan"), -1])
def test_a_budget_that_cannot_be_is_refused_and_the_study_keeps_its_own(tmp_path, spec, monkeypatch, minutes):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    Store.create(tmp_path, spec, created=0, dialin_version="0", command="", host={}, servers={}).close()
    with pytest.raises(UserError, match="minutes"):
        launch.check_resume(tmp_path, Workshop.open(print), minutes=minutes)
    with Store.open(tmp_path) as store:
        assert store.spec == spec


@pytest.mark.parametrize("option", ["server_cpus", "load_cpus"])
def test_a_study_whose_cpus_are_gone_is_not_resumed(tmp_path, spec, monkeypatch, option):
    monkeypatch.setenv("DIALIN_HOME", str(tmp_path / "home"))
    asked = spec.model_copy(update={option: "4095"})
    Store.create(tmp_path, asked, created=0, dialin_version="0", command="", host={}, servers={}).close()
    with pytest.raises(UserError, match="there is no CPU 4095 here"):
        launch.check_resume(tmp_path, Workshop.open(print))
