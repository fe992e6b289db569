"""The files of load programs that come with dialin."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PRESETS = Path(__file__).parent / "presets"


@cache
def preset_names() -> tuple[str, ...]:
    """Return their names, such as `go-tpc:tpcc`; a colon is two dashes in the name of the file."""
    return tuple(sorted(path.stem.replace("--", ":") for path in PRESETS.glob("*.toml")))


def path_of(name: str) -> Path:
    """Return the path of such a file, or of the user's own."""
    return PRESETS / f"{name.replace(':', '--')}.toml" if name in preset_names() else Path(name)
