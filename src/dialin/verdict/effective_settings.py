"""What candidates come to, side by side: values that are not those asked for, candidates that are one, and confounds. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.model.study import StudySpec
from dialin.model.verdict import Note
from dialin.text import listed
from dialin.variables import in_force
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.verdict.outcome_sentences import several


@dataclass(frozen=True, slots=True)
class EffectiveSettings:
    """What a candidate came to.

    Attributes:
        in_force: every variable that its server reported.
        real: what was counted of the real objects behind them.
    """

    in_force: Mapping[str, str] = field(default_factory=dict)
    real: Mapping[str, str] = field(default_factory=dict)


def confounds(spec: StudySpec, seen: Mapping[str, EffectiveSettings]) -> list[Note]:
    """Return what differs between candidates though nobody asked.

    Within each build: between builds every default that differs is part of what is compared, and is said to be.
    """
    return [
        note
        for group in _by_build(spec, seen)
        for note in in_force.confounds(_believed(group), spec.variables_under_test, spec.baseline)
    ]


def same(spec: StudySpec, seen: Mapping[str, EffectiveSettings]) -> list[frozenset[str]]:
    """Return the groups of candidates that are one in force."""
    names = spec.variables_under_test
    return [one for group in _by_build(spec, seen) for one in in_force.same_in_force(_believed(group), names)]


def same_notes(spec: StudySpec, seen: Mapping[str, EffectiveSettings], groups: Sequence[frozenset[str]]) -> list[Note]:
    """Return a note for each group of candidates that are one, with the real objects that they share."""
    notes = []
    for group in groups:
        names = [candidate.name for candidate in spec.candidates if candidate.name in group]
        real = {
            variable: seen[names[0]].real[variable]
            for variable in spec.variables_under_test
            if variable in seen[names[0]].real and len({seen[name].in_force.get(variable) for name in names}) > 1
        }
        facts = "; ".join(f"each has {count} real {variable}" for variable, count in real.items())
        notes.append(
            Note(
                code="same_in_force",
                text=f"{several(spec, names)} come to the same setting in force{f' ({facts})' if facts else ''}: "
                "what differs between them is this machine's noise",
                data={"candidates": names, "real": real},
            )
        )
    return notes


def changed_notes(spec: StudySpec, first: Mapping[str, EffectiveSettings], last: Mapping[str, EffectiveSettings]) -> list[Note]:
    """Return a note for each candidate whose first and last trials had other values in force of what could matter."""
    notes = []
    for candidate in spec.candidates:
        if candidate.name not in last:
            continue
        for note in changed(first[candidate.name], last[candidate.name]):
            text = f"{several(spec, [candidate.name])}: {note.data['variable']} changed between its trials"
            notes.append(Note(code="changed_meanwhile", text=text, data={**note.data, "candidate": candidate.name}))
    return notes


def changed(first: EffectiveSettings, last: EffectiveSettings) -> list[Note]:
    """Return a note for each variable that is another in the second of two looks at one candidate, and could matter."""
    found = _believed({"first": first, "last": last})
    return [note for note in in_force.confounds(found, (), "first") if not note.data["inert"]]


def deviations(spec: StudySpec, seen: Mapping[str, EffectiveSettings], catalogues: Mapping[str, Catalogue]) -> list[Note]:
    """Return what is in force otherwise than it was asked for; what holds for several candidates is said once."""
    whose: dict[str, list[str]] = {}
    notes: dict[str, Note] = {}
    for candidate in spec.candidates:
        if candidate.name in seen:
            found, known = seen[candidate.name], catalogues.get(candidate.server)
            for note in in_force.deviations(spec.setting_of(candidate.name), found.in_force, known, found.real):
                notes.setdefault(note.text, note)
                whose.setdefault(note.text, []).append(candidate.name)
    return [
        Note(
            code=note.code,
            text=f"{listed(whose[text])}: {text}" if len(whose[text]) < len(spec.candidates) else text,
            data={**note.data, "candidates": whose[text]},
        )
        for text, note in notes.items()
    ]


def _by_build(spec: StudySpec, seen: Mapping[str, EffectiveSettings]) -> list[dict[str, EffectiveSettings]]:
    servers = dict.fromkeys(candidate.server for candidate in spec.candidates)
    groups = ({c.name: seen[c.name] for c in spec.candidates if c.server == server and c.name in seen} for server in servers)
    return [group for group in groups if group]


def _believed(group: Mapping[str, EffectiveSettings]) -> dict[str, dict[str, str]]:
    return in_force.believed(
        {name: found.in_force for name, found in group.items()}, {name: found.real for name, found in group.items()}
    )


def catalogues_of(texts: Mapping[str, str]) -> dict[str, Catalogue]:
    """Return what builds told of the variables that a study asks for, as its store keeps it; none for what cannot be read."""
    found = {}
    for build, text in texts.items():
        try:
            found[build] = Catalogue.from_json(text)
        except ValueError:  # of another dialin: without it less is told of limits, and nothing wrong
            continue
    return found


def excerpt(catalogue: Catalogue, names: Iterable[str]) -> str:
    """Return what the store keeps of a catalogue, as text: these variables, and of all others what they are by default."""
    wanted = set(names)
    kept = {
        name: known if name in wanted else Variable(name, Kind.UNKNOWN, default=known.default)
        for name, known in catalogue.variables.items()
        if name in wanted or known.default is not None
    }
    return Catalogue(catalogue.build_id, kept).to_json()
