"""Which options do not go together: the one table of what a study refuses, by its place and its question.

The checks of a study, `--help` and `docs/cli.md` all read it: the help of tune leaves out what every tune refuses.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from dialin.errors import UserError
from dialin.model.live import LiveOptions
from dialin.model.option_types import kebab


class Kind(Enum):
    """What a study is: one place, one question, and whether it is one of a suite."""

    SANDBOX = auto()
    ATTACHED = auto()
    LIVE = auto()
    COMPARISON = auto()
    AA = auto()
    TUNE = auto()
    SUITE = auto()


class ConflictError(ValueError):
    """An option does not go with the rest of the question; `why` follows its name in a sentence.

    `why` and `remedy` have `{attach}` and `{traffic}` where they name these options.
    """

    def __init__(self, option: str, why: str, remedy: str) -> None:
        self._option, self._why, self._remedy = option, why, remedy
        told = self.told(lambda key: key.replace(" ", " = "))
        super().__init__(f"{told.what}: {told.remedy[:1].lower()}{told.remedy[1:]}")

    def told(self, spelled: Callable[[str], str]) -> UserError:
        """Return the error for a user who writes options as `spelled` returns them."""
        names = {"attach": spelled("attach"), "traffic": spelled("traffic own")}
        return UserError(f"{spelled(self._option)} {self._why.format_map(names)}", self._remedy.format_map(names))


@dataclass(frozen=True, slots=True)
class Refused:
    """Options that studies of some kinds refuse; `switch=set` is one value of an option."""

    options: tuple[str, ...]
    kinds: tuple[Kind, ...]
    why: str
    remedy: str = "Leave it out"


def _refused(options: str, *kinds: Kind, why: str, remedy: str = "Leave it out") -> Refused:
    return Refused(tuple(options.split()), kinds, why, remedy)


_OF_LIVE = " ".join(map(kebab, LiveOptions.model_fields))
_RUNNING = (Kind.ATTACHED, Kind.LIVE)

TABLE: Final = (
    _refused("server", *_RUNNING, why="and {attach} cannot be combined: an attached server has a fixed build"),
    _refused(
        "waits wait-trials",
        *_RUNNING,
        why="does not work with an attached server: it needs a restart, and files that the server writes",
        remedy="Study a build of the same version with --server, or leave it out",
    ),
    _refused("hold server-memory server-cpus switch", *_RUNNING, why="is for sandboxes, which dialin starts itself"),
    _refused(
        "defaults-file login-path database wait-for-server",
        Kind.SANDBOX,
        why="is for an attached server",
        remedy="Add {attach}",
    ),
    _refused(
        "load-hosts load-token",
        Kind.SANDBOX,
        why="is for an attached server: those that dialin starts listen on a socket of their own machine only, and dialin "
        "sends no password to a load host",
        remedy="Add {attach}, or leave it out",
    ),
    _refused("traffic", Kind.TUNE, why="is not for a tune", remedy="Name the values to compare"),
    _refused("traffic", Kind.SANDBOX, why="is for an attached server", remedy="Add {attach}"),
    _refused(_OF_LIVE, Kind.SANDBOX, why="is for a live server", remedy="Add {attach} and {traffic}"),
    _refused(_OF_LIVE, Kind.ATTACHED, why="is for a live server", remedy="Add {traffic}"),
    _refused("database wait-for-server set confirm profile profile-candidates", Kind.LIVE, why="is not for a live server"),
    _refused("worst", Kind.COMPARISON, Kind.AA, why="is for a tune", remedy="Leave it out, or use dialin tune"),
    _refused(
        "waits wait-trials profile profile-candidates hold confirm baseline until confidence",
        Kind.TUNE,
        why="is not for a tune",
    ),
    _refused("suite fail-if-worse", Kind.TUNE, why="is not for a tune, which searches under one workload"),
    _refused("tune", Kind.SUITE, why="is not for a suite: it searches under one workload", remedy="Tune under one workload"),
    _refused("attach", Kind.SUITE, why="is not for a suite, which runs on servers that dialin starts"),
    _refused("waits wait-trials confirm", Kind.SUITE, why="is for a study of one workload", remedy="Leave it out of the suite"),
    _refused(
        "switch=set",
        Kind.SUITE,
        why="is not for a suite: each of its trials starts a server, because other workloads run between",
    ),
)


def refused_in(kind: Kind) -> frozenset[str]:
    """Return the fields of options that all studies of a kind refuse; a tune, which is never live, also those of live ones."""
    options = [option for row in TABLE if kind in row.kinds for option in row.options]
    options += _OF_LIVE.split() if kind is Kind.TUNE else []
    return frozenset(option.replace("-", "_") for option in options if "=" not in option)


def refuse(kinds: Collection[Kind], given: Collection[str]) -> None:
    """Refuse what does not go together; `given` has the options that are not at their default, and each with its value.

    Raises:
        ConflictError: the first conflict of the table.
    """
    for row in TABLE:
        for option in row.options:
            if option in given and not set(row.kinds).isdisjoint(kinds):
                raise ConflictError(option.replace("=", " "), row.why, row.remedy)
