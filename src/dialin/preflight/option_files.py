"""What option files add to a question: options that a server may lack, and the lines that errors name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dialin.errors import UserError
from dialin.model.study import Candidate
from dialin.text import listed
from dialin.variables import optionfile
from dialin.variables.catalogue import Catalogue
from dialin.variables.check import SettingError, known_as


def without_unknown(
    candidates: Sequence[Candidate], files: Sequence[Path], catalogues: Mapping[str, Catalogue]
) -> tuple[list[Candidate], list[str]]:
    """Leave out the `loose_` options that a candidate's build does not know, as a server does, and say which those are."""
    loose = frozenset[str]().union(*(optionfile.read(path).loose for path in files))
    reduced: list[Candidate] = []
    notes: dict[str, None] = {}
    for candidate in candidates:
        unknown = [name for name in candidate.setting if name in loose and not known_as(name, catalogues[candidate.server])]
        setting = {name: value for name, value in candidate.setting.items() if name not in unknown}
        reduced.append(candidate.model_copy(update={"setting": setting}))
        if unknown:
            notes[f"{candidate.server} has no {listed(unknown)}: left out, as loose_ asks for"] = None
    return reduced, list(notes)


@contextmanager
def naming_lines(files: Sequence[Path]) -> Iterator[None]:
    """Put the file and the line of a variable in front of the error about it, where a file sets it."""
    try:
        yield
    except SettingError as error:
        for path in files:
            if place := optionfile.read(path).places.get(error.variable):
                raise UserError(f"{place}: {error.what}", error.remedy) from error
        raise
