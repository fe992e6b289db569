"""All kinds of notes of a verdict, and stored notes as sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from pydantic import ValidationError

from dialin.model.study import StudySpec
from dialin.model.verdict import Note
from dialin.sentences import host_notes, live_notes, load_notes, result_notes, setting_notes
from dialin.sentences.names import DIRECTORY
from dialin.sentences.note import Confounding, TypedNote
from dialin.sentences.replay_sentences import AMOUNTS, RATIOS, SHARES

KINDS: Mapping[str, type[TypedNote]] = {
    **{
        kind.code: kind
        for module in (result_notes, host_notes, live_notes, load_notes, setting_notes)
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, TypedNote) and hasattr(kind, "code")
    },
    **dict.fromkeys((*SHARES, *RATIOS, *AMOUNTS), load_notes.NotTheCapture),
}
"""By the code of the note."""

_Kind = TypeVar("_Kind", bound=TypedNote)


def read(note: Note, directory: str = DIRECTORY) -> TypedNote | None:
    """Return a stored note with its figures; None where this version of dialin does not know it, or not with these figures.

    `directory` is that of the study in commands.
    """
    kind = KINDS.get(note.code)
    more = {"directory": directory} if kind is not None and "directory" in kind.model_fields else {}
    try:
        return kind.model_validate({**note.data, **more}) if kind is not None else None
    except ValidationError:
        return None


def among(kind: type[_Kind], notes: Iterable[Note]) -> Iterator[_Kind]:
    """Yield the notes of one kind, or of its subclasses, among stored ones."""
    return (typed for note in notes if isinstance(typed := read(note), kind))


def serious(notes: Iterable[Note]) -> list[Confounding]:
    """Return the confounds among stored notes that could explain the result."""
    return [one for one in among(Confounding, notes) if one.could_explain]


def note_text(spec: StudySpec, note: Note, directory: str = DIRECTORY) -> str:
    """Return a stored note as a sentence without its full stop; its stored text where `read` does not know it.

    `directory` is that of the study in commands.
    """
    typed = read(note, directory)
    try:
        return note.text if typed is None else typed.sentence(spec)
    except LookupError:  # a candidate that the study does not have
        return note.text


def add_note_texts(spec: StudySpec, notes: Sequence[Note]) -> list[Note]:
    return [note.model_copy(update={"text": note_text(spec, note)}) for note in notes]
