"""How the candidates of a study on sandboxes are inspected."""

from pathlib import Path
from types import SimpleNamespace

from dialin.model.build import Build, Image, Vendor
from dialin.model.trial import EffectiveSettings
from dialin.places.sandbox import inspection

IN_IMAGE = Build(Vendor.ORACLE, (9, 7, 4), Path("/mysqld"), image=Image("podman", "mysql:9.7", "sha256:1", "/usr/sbin/mysqld"))


def test_candidates_are_inspected_once_for_each_limit_of_a_container(monkeypatch):
    seen = []

    def read(_tools, build, _options):
        seen.append(build.image.memory)
        return EffectiveSettings({"innodb_buffer_pool_size": str(build.image.memory)}, {})

    monkeypatch.setattr(inspection, "_read", read)
    builds = {name: IN_IMAGE.limited(memory, None) for name, memory in (("1G", 2**30), ("2G", 2**31), ("2G again", 2**31))}
    inspect = inspection.make_inspect(SimpleNamespace(inspected={}), builds, [])
    sizes = [inspect(name, {}).in_force["innodb_buffer_pool_size"] for name in builds]
    assert sizes == [str(2**30), str(2**31), str(2**31)]
    assert seen == [2**30, 2**31]
