"""What option files add to a question: options that a server may lack, and the lines that errors name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from dialin.errors import UserError
from dialin.model.setting import Value
from dialin.model.study import Candidate
from dialin.preflight.checked import StudyRequest
from dialin.question.candidates import canonical
from dialin.text import listed
from dialin.variables import optionfile
from dialin.variables.catalogue import Catalogue
from dialin.variables.check import Elsewhere, SettingError, check_setting, known_as


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
            notes[_left_out(candidate.server, unknown)] = None
    return reduced, list(notes)


def base_setting(request: StudyRequest, catalogue: Catalogue, elsewhere: Elsewhere) -> tuple[dict[str, Value], list[str]]:
    """Return the setting of a tune's baseline, and a sentence on the `loose_` options of its file that the build lacks.

    Raises:
        UserError: the build has no such variable, or it takes no such value; the error names file and line.
    """
    files = [request.base_file] if request.base_file is not None else []
    loose = frozenset[str]().union(*(optionfile.read(path).loose for path in files))
    requested = canonical(request.question.set)
    unknown = [name for name in requested if name in loose and not known_as(name, catalogue)]
    setting = {name: value for name, value in requested.items() if name not in unknown}
    with naming_lines(files):
        check_setting(setting, catalogue, elsewhere)
    return setting, [_left_out(catalogue.build_id, unknown)] if unknown else []


def _left_out(build: str, unknown: Sequence[str]) -> str:
    return f"{build} has no {listed(unknown)}: left out, as loose_ asks for"


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
