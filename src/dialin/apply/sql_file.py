"""`recommended.sql` and `undo.sql`: the statements that bring a running server to what is recommended, and that take it back.

MySQL 8.0 and later remember what SET PERSIST sets; SET PERSIST_ONLY gives the next start what only a start can set. Older
builds and MariaDB forget what SET GLOBAL set when they stop: there the option file makes it last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from dialin.apply import limiting_pairs, option_file
from dialin.apply.option_file import WIDTH, Change, Comments
from dialin.errors import UserError
from dialin.model.record import StudyRecord
from dialin.model.setting import Value, as_number
from dialin.text import visible, wrapped
from dialin.variables.aliases import reported_name
from dialin.variables.behaviour import PERSISTS
from dialin.variables.catalogue import Catalogue, Kind, Variable

_PERSISTED = "SELECT VARIABLE_NAME, VARIABLE_VALUE AS PERSISTED FROM performance_schema.persisted_variables"
_LETTERS = "SET NAMES utf8mb4;"
_PLAIN_QUOTES = "SET SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', '');"


class _Way(Enum):
    PERSIST = "SET PERSIST"
    AT_START = "SET PERSIST_ONLY"
    FOR_NOW = "SET GLOBAL"


@dataclass(frozen=True, slots=True)
class Statements:
    """What one variable takes.

    Attributes:
        do: the statements that give it its value; none where no statement can.
        undo: those that take it back, as far as a study knows how: they set no value that is only a sandbox's, and none that
            was persisted before. There may be none.
        notes: what else is to be known, a sentence each.
        undo_notes: the same of taking it back.
        offered: what would set the sandbox's value; to be written as a comment.
        needs_start: whether the value is effective only after the next start.
    """

    name: str
    do: Sequence[str]
    undo: Sequence[str] = ()
    notes: Sequence[str] = ()
    undo_notes: Sequence[str] = ()
    offered: Sequence[str] = ()
    needs_start: bool = False


def statements(record: StudyRecord) -> list[Statements]:
    """Return the statements for a running server that change the baseline to the recommendation, in a safe order."""
    verdict = record.verdict
    changed = option_file.changes(record)
    if verdict is None or not changed:
        return []
    server = verdict.chosen.server
    persists, known, there = PERSISTS.is_of(server), _known(record, server), _there(record, verdict.recommended_candidate)
    items = [_statements(item, persists=persists, known=known, there=there) for item in limiting_pairs.ordered(changed)]
    names = {one.name for one in items if one.do}
    return [replace(one, notes=[*one.notes, limiting_pairs.alone(one.name, names)]) if one.do else one for one in items]


def render(record: StudyRecord, comments: Comments) -> str | None:
    """Return `recommended.sql`; None where no statement can set what is recommended, or nothing is."""
    items = statements(record)
    done = [line for one in items for line in one.do]
    if not done or record.verdict is None:
        return None
    server = record.verdict.chosen.server
    head = [
        f"Written by dialin {record.dialin_version} from the study {record.directory}",
        *comments.reasons,
        *option_file.warnings(record.verdict),
        f"For {server}. {_lasts(server)} undo.sql takes it back.",
    ]
    names = limiting_pairs.together([one.name for one in items if one.do])
    lines = [
        *_comments(head),
        "",
        *_comments(["What is there before: keep what this prints."]),
        *_shown(names, persists=PERSISTS.is_of(server)),
        *_session(done),
    ]
    for one in items:
        lines += ["", *_with_notes(one)]
    lines += ["", *_comments(["What is in force now."]), _in_force(names)]
    return "\n".join(lines) + "\n"


def commented(items: Sequence[Statements]) -> str:
    """Return the statements of variables, each below its notes as comments; what no statement can set is a comment alone."""
    return "\n".join(line for one in items for line in _with_notes(one))


def _with_notes(one: Statements) -> list[str]:
    return [*_comments(one.notes), *one.do]


def render_undo(record: StudyRecord) -> str | None:
    """Return `undo.sql`; None where there is nothing to take back."""
    items = [one for one in statements(record) if one.do][::-1]
    if not items or record.verdict is None:
        return None
    undone = [line for one in items for line in (*one.undo, *one.offered)]
    head = [
        f"Written by dialin {record.dialin_version} from the study {record.directory}",
        "Takes back what recommended.sql did. Values are those of the study's baseline: where recommended.sql printed others, "
        "they were your server's, so write them here instead.",
        "Remove lines of recommended.cnf from the option file, if they are there.",
    ]
    if PERSISTS.is_of(record.verdict.chosen.server):
        head.append(
            "RESET PERSIST takes out older values, too: what recommended.sql printed under PERSISTED is to be set again."
        )
    lines = [*_comments(head), *_session(undone)]
    for one in items:
        lines += ["", *_comments(one.undo_notes), *one.undo, *(f"-- {line}" for line in one.offered)]
    lines += ["", *_comments(["What is in force now."]), _in_force(limiting_pairs.together([one.name for one in items]))]
    return "\n".join(lines) + "\n"


def files_sentence(record: StudyRecord) -> str:
    """Return the sentence that names the files beside a report; nothing where nothing is to be set."""
    items = statements(record)
    if not items or record.verdict is None:
        return ""
    lines = "recommended.cnf has the lines for the option file"
    if not any(one.do for one in items):
        return f"{lines}; no statement can set this in a running server."
    return f"{lines}, recommended.sql the statements for a running server ({_lasting(record)}); undo.sql takes these back."


def _lasting(record: StudyRecord) -> str:
    lines = [line for one in statements(record) for line in one.do]
    if any(line.startswith(_Way.AT_START.value) for line in lines):
        return "in force after its next start"
    return "they last" if any(line.startswith(_Way.PERSIST.value) for line in lines) else "until it stops"


def _lasts(server: str) -> str:
    if PERSISTS.is_of(server):
        return (
            "SET PERSIST lasts across restarts, in mysqld-auto.cnf, which is read after every option file. It takes "
            "SYSTEM_VARIABLES_ADMIN, and PERSIST_ONLY takes PERSIST_RO_VARIABLES_ADMIN too; the few variables that a server "
            "refuses to persist (error 1238) go into the option file."
        )
    return "SET GLOBAL holds until the server stops, and is not seen by every open connection; recommended.cnf makes it last."


def _known(record: StudyRecord, server: str) -> Mapping[str, Variable]:
    try:
        return Catalogue.from_json(record.catalogues[server]).variables
    except (KeyError, ValueError):
        return {}


def _there(record: StudyRecord, candidate: str) -> Mapping[str, str]:
    """Return the variables that the recommended candidate's server reported; empty if no trial has them."""
    return next((trial.in_force for trial in record.trials if trial.candidate == candidate and trial.in_force), {})


def _statements(item: Change, *, persists: bool, known: Mapping[str, Variable], there: Mapping[str, str]) -> Statements:
    try:
        name = reported_name(item.name, there)
    except UserError as error:
        return Statements(visible(item.name), (), notes=[f"{item.name}: {error.what}"])
    if there and name not in there:
        return Statements(name, (), notes=[f"{name}: the server shows no such variable; recommended.cnf has its line."])
    variable = known.get(name, Variable(name, Kind.UNKNOWN))
    if variable.dynamic is False and not persists:
        note = f"{name}: only a start can set it; recommended.cnf has its line."
        return Statements(name, (), notes=[note], needs_start=True)
    value = "DEFAULT" if item.value is None else _literal(item.value, variable.kind)
    if value is None:
        return Statements(name, (), notes=[f"{name}: its value holds characters that are not written into SQL."])
    way = _Way.FOR_NOW if not persists else _Way.AT_START if variable.dynamic is False else _Way.PERSIST
    before = None if item.before is None else _literal(item.before, variable.kind)
    reset = [f"RESET PERSIST IF EXISTS {name};"] if persists else []
    again = [] if way is _Way.AT_START or before is None else [f"SET GLOBAL {name} = {before};"]
    if item.value is None:
        return _given_back(name, way, reset, again)
    return Statements(
        name,
        [f"{way.value} {name} = {value};"],
        reset if item.reported else [*reset, *again],
        _notes(item, name, way, value, variable),
        [*_undo_notes(item, name, way, before), *_persisted_again(name, way)],
        again if item.reported else [],
        needs_start=way is _Way.AT_START,
    )


def _given_back(name: str, way: _Way, reset: Sequence[str], again: Sequence[str]) -> Statements:
    """Return the statements for a variable that only the baseline sets: the server's default is to hold again."""
    do = [*reset, *([] if way is _Way.AT_START else [f"SET GLOBAL {name} = DEFAULT;"])]
    note = f"{name}: the server's default applies. Remove the line that sets it from the option file, too."
    undo_note = f"{name}: put its line back into the option file, too."
    undo_notes = [undo_note, *_persisted_again(name, way)]
    return Statements(name, do, again, [note], undo_notes, needs_start=way is _Way.AT_START)


def _notes(item: Change, name: str, way: _Way, value: str, variable: Variable) -> list[str]:
    source = "the study's baseline ran with" if item.reported else "was"
    was = "" if item.before is None else f" ({source} {visible(item.before)})"
    if way is _Way.AT_START:
        return [f"{name}{was}: only a start can set it, so it is in force after the next one."]
    if way is _Way.PERSIST and variable.dynamic is None:
        return [f"{name}{was}. If the server says that it is read only (error 1238): SET PERSIST_ONLY {name} = {value};"]
    return [f"{name}{was}."]


def _undo_notes(item: Change, name: str, way: _Way, before: str | None) -> list[str]:
    if way is _Way.AT_START:
        return [f"{name}: taken back by the next start."]
    if before is not None and not item.reported:
        return []
    note = f"{name}: taken back by the next start; at once by SET GLOBAL to what recommended.sql printed."
    return [note if before is None else f"{note} Below is what the study's baseline ran with, not necessarily your server."]


def _persisted_again(name: str, way: _Way) -> list[str]:
    if way is _Way.FOR_NOW:
        return []
    return [f"{name}: where recommended.sql printed it under PERSISTED, {way.value} that value again."]


def _literal(value: Value, kind: Kind) -> str | None:
    """Return a value as SQL writes it, or None where it holds what cannot be seen: line breaks, escapes, overrides."""
    number = None if kind is Kind.STRING else as_number(value)
    if number is not None:
        return str(number)
    text = str(value)
    if not text.isprintable():
        return None
    escaped = text.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def _session(lines: Sequence[str]) -> list[str]:
    text = "".join(lines)
    session = [*([] if text.isascii() else [_LETTERS]), *([_PLAIN_QUOTES] if "\\" in text else [])]
    return ["", *session] if session else []


def _shown(names: Sequence[str], *, persists: bool) -> list[str]:
    return [_in_force(names), *([f"{_PERSISTED} WHERE VARIABLE_NAME IN ({_quoted(names)});"] if persists else [])]


def _in_force(names: Sequence[str]) -> str:
    return f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_quoted(names)});"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _comments(texts: Sequence[str]) -> list[str]:
    return [line for text in texts if text for line in wrapped(visible(text), WIDTH, indent="-- ", hanging="--   ")]
