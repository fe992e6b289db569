"""A note: a fact that qualifies a result. Its class has its figures as typed fields, and makes its sentence of them."""

from __future__ import annotations

from typing import ClassVar

from dialin.model.frozen import FrozenModel
from dialin.model.study import StudySpec
from dialin.model.verdict import Note


class TypedNote(FrozenModel):
    """A note with its figures; each kind of note is a subclass, which `notes.KINDS` lists.

    A stored note has its code and its figures, and gets its sentence anew whenever it is shown.
    """

    code: ClassVar[str]

    def sentence(self, spec: StudySpec) -> str:
        """Return the note without its full stop."""
        raise NotImplementedError

    def stored(self) -> Note:
        """Return the note as a verdict stores it, without its sentence."""
        return Note(code=self.code, data=self.model_dump(mode="json"))


class Confounding(TypedNote):
    """Something other than the variables under test that differs between candidates.

    Attributes:
        could_explain: whether no winner may be claimed because of it.
    """

    could_explain: bool = True
