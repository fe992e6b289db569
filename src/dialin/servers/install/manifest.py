"""The manifest of an installed build: it marks the directory as complete, and its relative paths let it be moved."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from dialin.errors import UserError
from dialin.model.build import Build, BuildReference, Image
from dialin.paths import Home, parse_record, replace_text

MANIFEST = "build.json"
_SCHEMA = "dialin/build/1"
INSTALLED, ADDED, UNPACKED = "installed by dialin", "added: ", "added from "
"""Where a build comes from: a directory and an archive are named behind the last two."""


@dataclass(frozen=True, slots=True)
class Layout:
    """Where the parts of an unpacked server are, relative to its directory.

    Attributes:
        basedir: the root of share and plugin directories; None if the binary finds them itself.
        messages: the directory of error messages; None if the binary finds it from its basedir.
        loader: the dynamic loader that comes with the server; None to use the machine's.
        libraries: directories of shared libraries that the loader searches first.
    """

    binary: str
    basedir: str | None
    messages: str | None = None
    loader: str | None = None
    libraries: tuple[str, ...] = ()

    def launcher(self, root: Path) -> tuple[str, ...]:
        path = ":".join(str(root / each) for each in self.libraries)
        if self.loader is not None:
            return (str(root / self.loader), "--library-path", path)
        return ("env", f"LD_LIBRARY_PATH={path}") if path else ()


def check_search_path(root: Path) -> None:
    """Raise UserError if a path contains `:` or `;`, which separate the directories that a loader searches."""
    if any(mark in str(root) for mark in ":;"):
        raise UserError(f"A loader's path cannot contain ':' or ';': {root}", "Set DIALIN_HOME to another directory")


def messages_directory(basedir: Path) -> Path | None:
    """Return the directory under a basedir that error messages are in, or None."""
    candidates = (basedir / "share", basedir / "share" / "mysql", basedir / "share" / "mariadb")
    return next((each for each in candidates if (each / "english" / "errmsg.sys").is_file()), None)


def build_at(
    root: Path, layout: Layout, reference: BuildReference, text: str, origin: str = INSTALLED, image: Image | None = None
) -> Build:
    """Return the build that an unpacked directory holds; `text` is the version as the server prints it."""
    return Build(
        vendor=reference.vendor,
        version=reference.version,
        label=reference.label,
        binary=root / layout.binary,
        launcher=layout.launcher(root),
        basedir=root / layout.basedir if layout.basedir else None,
        messages=root / layout.messages if layout.messages else None,
        origin=origin,
        version_text=text,
        image=image,
    )


def write(root: Path, layout: Layout, build: Build, source: str) -> None:
    """Write the manifest of a complete build into its directory, in one step."""
    document: dict[str, Any] = {
        "schema": _SCHEMA,
        "build": build.id,
        "version_text": build.version_text,
        "source": source,
        "origin": build.origin,
        "image": asdict(build.image) if build.image else None,
        **asdict(layout),
    }
    replace_text(root / MANIFEST, json.dumps(document, indent=2) + "\n")


def read(root: Path) -> Build | None:
    """Return the build in a directory; None if there is no complete one."""
    try:
        document = parse_record((root / MANIFEST).read_text())
        if document["schema"] != _SCHEMA:
            return None
        reference = BuildReference.parse(document["build"])
        places = {each.name: document[each.name] for each in fields(Layout)}
        layout = Layout(**{**places, "libraries": tuple(places["libraries"])})
        image = Image(**document["image"]) if document.get("image") else None
        build = build_at(root, layout, reference, document["version_text"], document.get("origin", INSTALLED), image)
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return build if build.binary.is_file() else None


def installed(home: Home) -> list[Build]:
    """Return the complete builds that dialin installed, in order of name."""
    roots = sorted(home.builds.iterdir()) if home.builds.is_dir() else []
    return [build for root in roots if not root.name.startswith(".") and (build := read(root))]
