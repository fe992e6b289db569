from __future__ import annotations

from pathlib import Path

import pytest

from dialin.errors import UserError
from dialin.model.build import BuildReference
from dialin.servers.install import manifest
from dialin.servers.install.manifest import Layout, check_search_path
from servers.fakes import write_server


@pytest.mark.parametrize(
    ("layout", "launcher"),
    [
        (Layout("bin/mysqld", "."), ()),
        (Layout("bin/mysqld", ".", libraries=("libs", "lib/private")), ("env", "LD_LIBRARY_PATH=/b/libs:/b/lib/private")),
        (
            Layout("bin/mysqld", ".", loader="lib/ld.so", libraries=("lib", "usr/lib")),
            ("/b/lib/ld.so", "--library-path", "/b/lib:/b/usr/lib"),
        ),
    ],
)
def test_the_launcher_reports_a_loader_of_the_libraries_that_came_along(layout: Layout, launcher: tuple[str, ...]):
    assert layout.launcher(Path("/b")) == launcher


def test_a_manifest_is_read_wherever_its_directory_is_by_then(tmp_path: Path):
    here, there = tmp_path / "here", tmp_path / "there"
    layout = Layout("bin/mysqld", ".", libraries=("libs",))
    write_server(here / layout.binary)
    manifest.write(here, layout, manifest.build_at(here, layout, BuildReference.parse("mysql@5.6.24"), "5.6.24"), "a source")
    here.rename(there)
    build = manifest.read(there)
    assert build is not None
    assert build.launcher == ("env", f"LD_LIBRARY_PATH={there / 'libs'}")
    assert (build.id, build.binary, build.basedir) == ("mysql@5.6.24", there / "bin" / "mysqld", there)


@pytest.mark.parametrize("path", ["/a:b", "/a;b"])
def test_a_path_that_holds_what_separates_paths_is_refused(path: str):
    with pytest.raises(UserError, match="cannot contain"):
        check_search_path(Path(path))
