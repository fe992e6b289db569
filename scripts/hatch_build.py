"""Builds the load driver, dialin-load, into the wheel, so that one `pip install` gives both.

Where cargo is missing or too old, the wheel holds dialin alone, which then applies its loads by sysbench. An editable install
is left to scripts/driver.sh.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.config import BuilderConfig
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from packaging.tags import sys_tags

CRATE = Path("crates", "dialin-load")
NAME = "dialin-load"


class DriverHook(BuildHookInterface[BuilderConfig]):
    """Adds the program to the wheel's scripts."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build the program before the wheel is put together; the wheel is then of this platform."""
        if version == "editable":
            return
        crate = Path(self.root) / CRATE
        cargo = shutil.which("cargo")
        if cargo is None or _version(cargo) < _needed(crate):
            self.app.display_warning(f"without {NAME}: that takes Rust {'.'.join(map(str, _needed(crate)))} (cargo)")
            return
        subprocess.run([Path(self.root, "scripts", "driver.sh"), "compile"], check=True)
        program = crate / (os.environ.get("CARGO_TARGET_DIR") or "target") / "release" / NAME
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{_platform()}"
        build_data["shared_scripts"][str(program)] = NAME


def _version(cargo: str) -> tuple[int, ...]:
    told = subprocess.run([cargo, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"(\d+)\.(\d+)", told)
    return tuple(map(int, found.groups())) if found else ()


def _needed(crate: Path) -> tuple[int, ...]:
    manifest = tomllib.loads((crate / "Cargo.toml").read_text(encoding="utf-8"))
    return tuple(map(int, manifest["package"]["rust-version"].split(".")))


def _platform() -> str:
    """Return this platform's tag, as a wheel has it that is built for this machine and not for others."""
    return next(tag.platform for tag in sys_tags() if "manylinux" not in tag.platform and "musllinux" not in tag.platform)
