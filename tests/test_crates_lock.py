"""The crates of the load driver are those of crates.lock: it names them all, no registry, and nothing else is built."""

import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CRATE = ROOT / "crates" / "dialin-load"
LOCK = (CRATE / "crates.lock").read_text(encoding="utf-8")
PACKAGES = tomllib.loads(LOCK)["package"]
MANIFEST = tomllib.loads((CRATE / "Cargo.toml").read_text(encoding="utf-8"))


def direct(table):
    """The versions that Cargo.toml asks for."""
    return {name: asked if isinstance(asked, str) else asked["version"] for name, asked in MANIFEST[table].items()}


def fits(version, asked):
    """Whether a version begins with the numbers that are asked for, and is none of another major version."""
    numbers, least = ([int(part) for part in text.split("+")[0].split(".")] for text in (version, asked))
    decisive = next((place for place, number in enumerate(least) if number), len(least) - 1)
    return numbers >= least and numbers[: decisive + 1] == least[: decisive + 1]


FUZZ_LOCK = (CRATE / "fuzz" / "crates.lock").read_text(encoding="utf-8")
FUZZ_MANIFEST = tomllib.loads((CRATE / "fuzz" / "Cargo.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("lock", [LOCK, FUZZ_LOCK], ids=["driver", "fuzz"])
def test_no_registry_is_named(lock):
    assert "source" not in lock
    assert "://" not in lock


def test_fuzz_targets_are_built_of_the_drivers_crates():
    packages = tomllib.loads(FUZZ_LOCK)["package"]
    own = {package["name"]: package for package in packages if "checksum" not in package}
    assert set(own) == {FUZZ_MANIFEST["package"]["name"], MANIFEST["package"]["name"]}
    asked = {name.partition(" ")[0] for name in own[FUZZ_MANIFEST["package"]["name"]]["dependencies"]}
    assert asked == set(FUZZ_MANIFEST["dependencies"])
    locked = {(package["name"], package["version"]): package.get("checksum") for package in PACKAGES}
    names = {name for name, _ in locked}
    for package in packages:
        if package["name"] in names:
            assert locked[package["name"], package["version"]] == package.get("checksum"), package["name"]


def test_each_crate_has_a_version_and_a_checksum():
    own, *others = sorted(PACKAGES, key=lambda package: "checksum" in package)
    assert (own["name"], own["version"]) == (MANIFEST["package"]["name"], MANIFEST["package"]["version"])
    assert all(len(bytes.fromhex(package["checksum"])) == 32 for package in others)


def test_the_crates_that_the_driver_asks_for_are_the_ones_that_are_locked():
    (own,) = (package for package in PACKAGES if "checksum" not in package)
    locked = {name: version for name, _, version in (text.partition(" ") for text in own["dependencies"])}
    asked = direct("dependencies") | direct("dev-dependencies")
    assert sorted(locked) == sorted(asked)
    for name, version in locked.items():
        candidates = [version] if version else [package["version"] for package in PACKAGES if package["name"] == name]
        assert len(candidates) == 1, name
        assert fits(candidates[0], asked[name]), f"{name} {candidates[0]} is locked, and Cargo.toml asks for {asked[name]}"


@pytest.mark.parametrize(
    ("version", "asked", "expected"),
    [("1.2.3", "1", True), ("2.0.0", "1", False), ("0.9.5", "0.9", True), ("0.10.0", "0.9", False), ("1.2.3", "1.3", False)],
)
def test_versions_fit_as_cargo_has_it(version, asked, expected):
    assert fits(version, asked) is expected


@pytest.fixture
def copy(tmp_path):
    """A copy of what the build reads; the sources are empty."""
    (tmp_path / "scripts").mkdir()
    for name in ("common.sh", "driver.sh"):
        shutil.copy(ROOT / "scripts" / name, tmp_path / "scripts" / name)
    crate = tmp_path / "crates" / "dialin-load"
    (crate / "src").mkdir(parents=True)
    shutil.copy(CRATE / "Cargo.toml", crate)
    for name in ("lib.rs", "main.rs"):
        (crate / "src" / name).write_text("")
    return crate


def write_cargo_lock(crate, lock):
    (crate / "crates.lock").write_text(lock, encoding="utf-8")
    driver = crate.parents[1] / "scripts" / "driver.sh"
    done = subprocess.run([driver, "lock"], capture_output=True, text=True, timeout=300)
    if done.stderr.startswith("error: dialin-load cannot be built: "):
        pytest.skip(done.stderr)
    return done


def entry(name):
    (text,) = (text for text in LOCK.split("\n\n") if f'name = "{name}"' in text)
    return text


def test_cargo_takes_the_lock_file_that_is_written_from_crates_lock(copy):
    done = write_cargo_lock(copy, LOCK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    written = tomllib.loads((copy / "Cargo.lock").read_text(encoding="utf-8"))["package"]
    assert [{key: value for key, value in package.items() if key != "source"} for package in written] == PACKAGES
    assert all(("source" in package) == ("checksum" in package) for package in written)


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        (lambda text: text.replace('checksum = "', 'checksum = "00')[:-3] + '"', "checksum for `strsim"),
        (lambda text: text.replace('version = "0.11', 'version = "0.10'), "does not have what Cargo.toml asks for"),
        (lambda text: "", "does not have what Cargo.toml asks for"),
    ],
    ids=["checksum", "version", "missing"],
)
def test_a_lock_file_that_was_changed_is_refused_in_one_line(copy, changed, says):
    text = entry("strsim")
    done = write_cargo_lock(copy, LOCK.replace(text, changed(text)))
    assert done.returncode == 1
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: crates/dialin-load/crates.lock")
    assert says in line
    assert "make lock" in line
