"""The one place that chooses what shows a part of a document, for the renderings that are written in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from dialin.report.charts.chart import Chart
from dialin.report.document.parts import (
    Beside,
    Caveats,
    Code,
    Fold,
    Grid,
    Group,
    Log,
    MeasureSwitch,
    Pairs,
    Paragraph,
    Part,
    Reasons,
    Table,
    Terms,
    Tiles,
)

Shown = TypeVar("Shown")


class PartRenderer(ABC, Generic[Shown]):
    """Shows parts, each by the method for its kind. What is beside or on a grid is shown one below the other."""

    def show(self, parts: Sequence[Part]) -> list[Shown]:
        """Show parts and all that they hold, in their order; what only a page can do is left out."""
        return [shown for part in parts for shown in self._show(part)]

    def _show(self, part: Part) -> list[Shown]:
        match part:
            case Beside():
                return self.show(part.groups)
            case Grid():
                return self.show(part.charts)
            case MeasureSwitch():
                return []
            case _:
                return [self._show_one(part)]

    def _show_one(
        self, part: Paragraph | Group | Fold | Chart | Table | Code | Tiles | Pairs | Terms | Caveats | Reasons | Log
    ) -> Shown:
        match part:
            case Paragraph():
                return self.paragraph(part)
            case Group():
                return self.group(part)
            case Fold():
                return self.fold(part)
            case Chart():
                return self.chart(part)
            case Table():
                return self.table(part)
            case Code():
                return self.code(part)
            case Tiles():
                return self.tiles(part)
            case Pairs():
                return self.pairs(part.pairs)
            case Terms():
                return self.pairs([(one.word, one.meaning) for one in part.terms])
            case Caveats():
                return self.caveats(part)
            case Reasons():
                return self.reasons(part)
            case Log():
                return self.log(part)

    @abstractmethod
    def paragraph(self, part: Paragraph) -> Shown: ...

    @abstractmethod
    def group(self, part: Group) -> Shown: ...

    @abstractmethod
    def fold(self, part: Fold) -> Shown: ...

    @abstractmethod
    def chart(self, part: Chart) -> Shown: ...

    @abstractmethod
    def table(self, part: Table) -> Shown: ...

    @abstractmethod
    def code(self, part: Code) -> Shown: ...

    @abstractmethod
    def tiles(self, part: Tiles) -> Shown: ...

    @abstractmethod
    def pairs(self, pairs: Sequence[tuple[str, str]]) -> Shown: ...

    @abstractmethod
    def caveats(self, part: Caveats) -> Shown: ...

    @abstractmethod
    def reasons(self, part: Reasons) -> Shown: ...

    @abstractmethod
    def log(self, part: Log) -> Shown: ...
