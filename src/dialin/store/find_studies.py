"""Finds the studies below a directory."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from dialin.errors import UserError
from dialin.store import STUDY_FILE


@dataclass(slots=True)
class FoundStudies:
    """The studies below a directory.

    Attributes:
        problems: directories that could not be searched, with the reason.
    """

    studies: list[Path] = field(default_factory=list)
    problems: list[tuple[Path, str]] = field(default_factory=list)


def find_studies(directory: Path) -> FoundStudies:
    """Return the studies in a directory and below it. Hidden directories and symbolic links are not followed.

    Raises:
        UserError: there is no such directory.
    """
    if not directory.is_dir():
        raise UserError(f"{directory} is not a directory", "Name a directory that holds studies")
    result = FoundStudies()

    def note(error: OSError) -> None:
        result.problems.append((Path(error.filename), error.strerror or str(error)))

    for place, directories, files in os.walk(directory, onerror=note):
        if STUDY_FILE in files:
            result.studies.append(Path(place))
            directories.clear()  # a study contains no other study
        directories[:] = sorted(name for name in directories if not name.startswith("."))
    return result
