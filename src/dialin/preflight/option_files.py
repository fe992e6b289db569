"""The settings of files that a question names, as a build takes them: option files to compare, and the baseline of a tune."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from dialin.errors import DialinError, UserError
from dialin.model.setting import Value
from dialin.model.study import SettingForm
from dialin.preflight.checked import StudyRequest
from dialin.question.candidates import Variables, canonical
from dialin.question.options import StudyOptions
from dialin.text import counted, listed
from dialin.variables import memory
from dialin.variables.catalogue import Catalogue
from dialin.variables.check import Elsewhere, check_setting
from dialin.variables.fitting import Fault, fit
from dialin.variables.forms.read import read


@dataclass(frozen=True, slots=True)
class RequestedSettings:
    """The settings that a question names.

    Attributes:
        settings: by the name of their candidate.
        notes: what became of the files' lines, a sentence each.
        form: what the first file is that is no option file; None where all are.
    """

    settings: Sequence[tuple[str, Variables]]
    notes: tuple[str, ...] = ()
    form: SettingForm | None = None


def check_early(question: StudyOptions, directory: Path, base_file: Path | None = None) -> None:
    """Refuse values and files that no build would take, before a build is looked for.

    Raises:
        UserError: duplicate values, too many candidates, a file that cannot be read.
    """
    files = [path for _, path in question.option_files(directory)]
    for path in [*files, *([base_file] if base_file else [])]:
        read(path, includes=question.includes)
    if not question.compare:
        question.settings()


def requested_settings(
    question: StudyOptions, directory: Path, catalogue: Catalogue, elsewhere: Elsewhere
) -> RequestedSettings:
    """Return the settings that a question names as a build takes them.

    Raises:
        UserError: a file cannot be read, or has options that the build does not take; the error names all of them.
    """
    if not question.compare:
        return RequestedSettings(question.settings())
    return _of_files(question.option_files(directory), question, catalogue, elsewhere)


def requested_on_builds(
    question: StudyOptions, directory: Path, catalogues: Mapping[str, Catalogue], elsewhere: Elsewhere
) -> dict[str, RequestedSettings]:
    """Return the settings that a question names as each of several builds takes them.

    Raises:
        UserError: as `requested_settings`; the error names what every build does not take, and not only the first.
    """
    requested: dict[str, RequestedSettings] = {}
    refused: dict[tuple[str, str], UserError] = {}
    for server, catalogue in catalogues.items():
        try:
            requested[server] = requested_settings(question, directory, catalogue, elsewhere)
        except UserError as error:
            refused.setdefault((error.what, error.log_tail), error)
    if len(refused) == 1:
        raise next(iter(refused.values()))
    if refused:
        remedies = dict.fromkeys(error.remedy for error in refused.values())
        raise UserError(
            f"{len(refused)} of {counted(len(catalogues), 'build')} do not take the files' options, listed above",
            ". ".join(remedies),
            "\n".join(line for what, tail in refused for line in (f"{what}:" if tail else what, *tail.splitlines())),
        )
    return requested


def base_setting(
    request: StudyRequest, catalogue: Catalogue, elsewhere: Elsewhere
) -> tuple[dict[str, Value], RequestedSettings]:
    """Return the setting of a tune's baseline, that of its file below what is set for all, and what became of the file.

    Raises:
        UserError: the file cannot be read, the build has no such variable, or it takes no such value.
    """
    files = [(request.base_file.name, request.base_file)] if request.base_file is not None else []
    of_file = _of_files(files, request.question, catalogue, elsewhere)
    requested = canonical(request.question.set)
    check_setting(requested, catalogue, elsewhere)
    base = dict(of_file.settings[0][1]) if files else {}
    return {**base, **requested}, of_file


@contextmanager
def said_if_refused(notes: Sequence[str], say: Callable[[str], None]) -> Iterator[None]:
    """Say what became of files where what they ask for is refused; a study that begins says and stores its notes itself."""
    try:
        yield
    except DialinError:
        for note in notes:
            say(f"Note: {note}")
        raise


def _of_files(
    files: Sequence[tuple[str, Path]], question: StudyOptions, catalogue: Catalogue, elsewhere: Elsewhere
) -> RequestedSettings:
    settings: list[tuple[str, Variables]] = []
    notes: dict[str, list[str]] = {}
    faults: list[Fault] = []
    form = None
    for name, path in files:
        file = read(path, catalogue.build_id, includes=question.includes)
        fitted = fit(file, catalogue, elsewhere, leave_out=question.leave_out_unknown)
        form = form or file.form
        faults += fitted.faults
        setting = fitted.setting
        if question.scale_sizes is not None:
            setting, scaled = memory.scaled(setting, question.scale_sizes)
            fitted = replace(fitted, notes=tuple(filter(None, (*fitted.notes, scaled))))
        settings.append((name, setting))
        for note in fitted.notes:
            notes.setdefault(note, []).append(name)
    _raise(faults, catalogue.build_id)
    texts = tuple(f"{listed(list(dict.fromkeys(names)))}: {note}" for note, names in notes.items())
    return RequestedSettings(settings, texts, form)


def _raise(faults: Sequence[Fault], build: str) -> None:
    """Raise one error for all faults; a single one keeps its own remedy."""
    if not faults:
        return
    places: dict[tuple[str, str], list[str]] = {}
    for fault in faults:
        where = places.setdefault((fault.name, fault.why), [])
        where += [fault.place] if fault.place not in where else []
    if len(places) == 1:
        first, (where, *_) = faults[0], [*places.values()]
        write = f"Write {first.gone.successor}, or leave" if first.gone and first.gone.successor else "Leave"
        remedy = f"{write} it out (--leave-out-unknown)" if first.gone else first.error.remedy
        remedy += ", or leave it out: --leave-out-unknown" if first.is_unknown and not first.gone else ""
        raise UserError(f"{'; '.join(where)}: {first.error.what}", remedy)
    unknown = "; --leave-out-unknown leaves out those that it does not have" if any(one.is_unknown for one in faults) else ""
    raise UserError(
        f"{build} does not take {counted(len(places), 'option')} of the files, listed above",
        f"Correct them{unknown}",
        "\n".join(f"{name}: {why} ({'; '.join(where)})" for (name, why), where in places.items()),
    )
