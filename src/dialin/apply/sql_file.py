"""`recommended.sql` and `undo.sql`: the statements that apply a recommendation to a running server, and those that undo it.

MySQL 8.0 and later persist what SET PERSIST sets; SET PERSIST_ONLY stores a value that only a start can apply. Older builds
and MariaDB lose what SET GLOBAL sets when they stop: there, only the option file makes a change permanent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from dialin.apply import option_file
from dialin.apply.option_file import WIDTH, Change, Comments
from dialin.errors import UserError
from dialin.model.record import StudyRecord
from dialin.model.setting import Value, as_number
from dialin.text import visible, wrapped
from dialin.variables.aliases import reported_name
from dialin.variables.behaviour import PERSISTS
from dialin.variables.catalogue import Catalogue, Kind, Variable

_PERSISTED = "SELECT VARIABLE_NAME, VARIABLE_VALUE AS PERSISTED FROM performance_schema.persisted_variables"
_CHARACTER_SET = "SET NAMES utf8mb4;"
_BACKSLASH_ESCAPES = "SET SESSION sql_mode = REPLACE(@@SESSION.sql_mode, 'NO_BACKSLASH_ESCAPES', '');"


class _Command(Enum):
    PERSIST = "SET PERSIST"
    AT_START = "SET PERSIST_ONLY"
    FOR_NOW = "SET GLOBAL"


@dataclass(frozen=True, slots=True)
class Statements:
    """The statements that set one variable, and those that undo it.

    Attributes:
        do: the statements that set the recommended value; empty where no statement can.
        undo: the statements that undo this, as far as the study knows how: they set no value that only a sandbox had, and none
            that was persisted before. May be empty.
        notes: comments on `do`, a sentence each.
        undo_notes: comments on `undo`, a sentence each.
        offered: the statements that would set the value of the sandbox; written only as a comment.
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
    persists, known = PERSISTS.is_of(server), known_variables(record, server)
    recommended = (one.in_force for one in record.trials if one.candidate == verdict.recommended_candidate)
    reported = next(filter(None, recommended), {})
    items = [_statements(item, persists=persists, known=known, reported=reported) for item in option_file.safe_order(changed)]
    names = {one.name for one in items if one.do}
    return [
        replace(one, notes=[*one.notes, option_file.missing_partner_note(one.name, names)]) if one.do else one for one in items
    ]


def render(record: StudyRecord, comments: Comments) -> str | None:
    """Return `recommended.sql`; None where nothing is recommended, or no statement can set it."""
    items = statements(record)
    done = [line for one in items for line in one.do]
    if not done or record.verdict is None:
        return None
    server = record.verdict.chosen.server
    head = [
        f"Written by dialin {record.dialin_version} from the study {record.directory}",
        *comments.reasons,
        *option_file.warnings(record.verdict),
        f"For {server}. {_lifetime_sentence(server)} undo.sql undoes it.",
    ]
    names = option_file.with_partners([one.name for one in items if one.do])
    lines = [
        *_comments(head),
        "",
        *_comments(["Values before the change: save this output."]),
        *_show_statements(names, persists=PERSISTS.is_of(server)),
        *_session(done),
    ]
    for item in items:
        lines += ["", *_with_notes(item)]
    lines += ["", *_comments(["Effective values now."]), _in_force(names)]
    return "\n".join(lines) + "\n"


def commented(items: Sequence[Statements]) -> str:
    """Return the statements of variables below their notes; a variable that no statement can set has notes alone."""
    return "\n".join(line for item in items for line in _with_notes(item))


def _with_notes(item: Statements) -> list[str]:
    return [*_comments(item.notes), *item.do]


def render_undo(record: StudyRecord) -> str | None:
    """Return `undo.sql`; None where there is nothing to undo."""
    items = [one for one in statements(record) if one.do][::-1]
    if not items or record.verdict is None:
        return None
    undone = [line for one in items for line in (*one.undo, *one.offered)]
    head = [
        f"Written by dialin {record.dialin_version} from the study {record.directory}",
        "Undoes recommended.sql. Values are those of the study's baseline: where recommended.sql printed other values, those "
        "were your server's, so write them here instead.",
        "Remove the lines of recommended.cnf from the option file, if you added them.",
    ]
    if PERSISTS.is_of(record.verdict.chosen.server):
        head.append(
            "RESET PERSIST removes older persisted values, too: set again what recommended.sql printed under PERSISTED."
        )
    lines = [*_comments(head), *_session(undone)]
    for item in items:
        lines += ["", *_comments(item.undo_notes), *item.undo, *(f"-- {line}" for line in item.offered)]
    lines += ["", *_comments(["Effective values now."]), _in_force(option_file.with_partners([item.name for item in items]))]
    return "\n".join(lines) + "\n"


def files_sentence(record: StudyRecord) -> str:
    """Return the sentence that names the files beside a report; nothing where nothing is to be set."""
    items = statements(record)
    if not items or record.verdict is None:
        return ""
    lines = "recommended.cnf has the lines for the option file"
    if not any(one.do for one in items):
        return f"{lines}; no statement can set this in a running server."
    return f"{lines}, recommended.sql the statements for a running server ({_lifetime(record)}); undo.sql reverts them."


def _lifetime(record: StudyRecord) -> str:
    lines = [line for one in statements(record) for line in one.do]
    if any(line.startswith(_Command.AT_START.value) for line in lines):
        return "in force after its next start"
    return "persistent" if any(line.startswith(_Command.PERSIST.value) for line in lines) else "until it stops"


def _lifetime_sentence(server: str) -> str:
    if PERSISTS.is_of(server):
        return (
            "SET PERSIST lasts across restarts, in mysqld-auto.cnf, which is read after every option file. It requires "
            "SYSTEM_VARIABLES_ADMIN, and PERSIST_ONLY also PERSIST_RO_VARIABLES_ADMIN; the few variables that a server "
            "refuses to persist (error 1238) go into the option file."
        )
    return "SET GLOBAL holds until the server stops, and is not seen by every open connection; recommended.cnf makes it last."


def known_variables(record: StudyRecord, server: str) -> Mapping[str, Variable]:
    """Return the variables of a build as the study stored them; empty where it did not."""
    try:
        return Catalogue.from_json(record.catalogues[server]).variables
    except (KeyError, ValueError):
        return {}


def _statements(item: Change, *, persists: bool, known: Mapping[str, Variable], reported: Mapping[str, str]) -> Statements:
    try:
        name = reported_name(item.name, reported)
    except UserError as error:
        return Statements(visible(item.name), (), notes=[f"{item.name}: {error.what}"])
    if reported and name not in reported:
        return Statements(name, (), notes=[f"{name}: the server shows no such variable; recommended.cnf has its line."])
    variable = known.get(name, Variable(name, Kind.UNKNOWN))
    if variable.dynamic is False and not persists:
        note = f"{name}: only a start can set it; recommended.cnf has its line."
        return Statements(name, (), notes=[note], needs_start=True)
    value = "DEFAULT" if item.value is None else _literal(item.value, variable.kind)
    if value is None:
        return Statements(name, (), notes=[f"{name}: its value holds characters that are not written into SQL."])
    command = _Command.FOR_NOW if not persists else _Command.AT_START if variable.dynamic is False else _Command.PERSIST
    before = None if item.before is None else _literal(item.before, variable.kind)
    reset = [f"RESET PERSIST IF EXISTS {name};"] if persists else []
    set_old_value = [] if command is _Command.AT_START or before is None else [f"SET GLOBAL {name} = {before};"]
    if item.value is None:
        return _reset_to_default(name, command, reset, set_old_value)
    return Statements(
        name,
        [f"{command.value} {name} = {value};"],
        reset if item.reported else [*reset, *set_old_value],
        _notes(item, name, command, value, variable),
        [*_undo_notes(item, name, command, before), *_persisted_again(name, command)],
        set_old_value if item.reported else [],
        needs_start=command is _Command.AT_START,
    )


def _reset_to_default(name: str, command: _Command, reset: Sequence[str], set_old_value: Sequence[str]) -> Statements:
    """Return the statements for a variable that only the baseline sets: the server's default applies again."""
    do = [*reset, *([] if command is _Command.AT_START else [f"SET GLOBAL {name} = DEFAULT;"])]
    note = f"{name}: the server's default applies. Remove the line that sets it from the option file, too."
    undo_note = f"{name}: put its line back into the option file, too."
    undo_notes = [undo_note, *_persisted_again(name, command)]
    return Statements(name, do, set_old_value, [note], undo_notes, needs_start=command is _Command.AT_START)


def _notes(item: Change, name: str, command: _Command, value: str, variable: Variable) -> list[str]:
    source = "the study's baseline ran with" if item.reported else "was"
    was = "" if item.before is None else f" ({source} {visible(item.before)})"
    if command is _Command.AT_START:
        return [f"{name}{was}: only a start can set it, so it is in force after the next one."]
    if command is _Command.PERSIST and variable.dynamic is None:
        return [f"{name}{was}. If the server says that it is read only (error 1238): SET PERSIST_ONLY {name} = {value};"]
    return [f"{name}{was}."]


def _undo_notes(item: Change, name: str, command: _Command, before: str | None) -> list[str]:
    if command is _Command.AT_START:
        return [f"{name}: taken back by the next start."]
    if before is not None and not item.reported:
        return []
    note = f"{name}: taken back by the next start; at once by SET GLOBAL to what recommended.sql printed."
    return [note if before is None else f"{note} Below is what the study's baseline ran with, not necessarily your server."]


def _persisted_again(name: str, command: _Command) -> list[str]:
    if command is _Command.FOR_NOW:
        return []
    return [f"{name}: where recommended.sql printed it under PERSISTED, {command.value} that value again."]


def _literal(value: Value, kind: Kind) -> str | None:
    """Return a value as an SQL literal, or None if it has unprintable characters: line breaks, escapes, overrides."""
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
    session = [*([] if text.isascii() else [_CHARACTER_SET]), *([_BACKSLASH_ESCAPES] if "\\" in text else [])]
    return ["", *session] if session else []


def _show_statements(names: Sequence[str], *, persists: bool) -> list[str]:
    return [_in_force(names), *([f"{_PERSISTED} WHERE VARIABLE_NAME IN ({_quoted(names)});"] if persists else [])]


def _in_force(names: Sequence[str]) -> str:
    return f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({_quoted(names)});"


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _comments(texts: Sequence[str]) -> list[str]:
    return [line for text in texts if text for line in wrapped(visible(text), WIDTH, indent="-- ", hanging="--   ")]
