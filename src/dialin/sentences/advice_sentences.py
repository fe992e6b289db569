"""Advice in words; the sentences of its rules stand in their rows, in `advice/rules.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dialin.model.advice import Studied, Unread, UnreadCode, Watch, Weight
from dialin.model.evidence import ProbeNote
from dialin.model.setting import Value
from dialin.sentences.probe_notes import probe_note_text
from dialin.sentences.tune_words import value_text
from dialin.text import command_line, duration, listed, number, size

WEIGHTS: Mapping[Weight, str] = {
    Weight.WAITED: "the server waited, or reached a limit",
    Weight.WORK: "the server did work that another value may save",
    Weight.MACHINE: "the value differs from a rule of thumb for this machine",
    Weight.CHANGED: "the default was changed",
}
"""What each weight means."""


STUDIED: Mapping[Studied, str] = {
    Studied.SERVER: "The commands with --attach put a load of their own on the server: use a copy of it, or a quiet hour.",
    Studied.MANAGED: "The account may not set variables: COMMAND is one of yours that applies settings (docs/attached.md).",
    Studied.TRAFFIC: "Clients use the server. The commands with --traffic own switch the variable back and forth under their "
    "traffic, and put it back at the first sign of harm.",
    Studied.REPLAY: "The commands with capture: replay this server's statements on a sandbox. DIR is a copy of its data from "
    "before the recording, which this makes:",
    Studied.SANDBOX: "What only a start can set is compared on a sandbox; on the server itself, with --attach --apply-command.",
}
"""What there is to know of the commands, by where they run."""


_UNREAD = {
    UnreadCode.MACHINE: "Memory, CPUs and disk: the server is not on this machine, or its process is not seen from here.",
    UnreadCode.DATA: "The size of the data: information_schema.tables did not answer in time.",
    UnreadCode.SOME_DATA: "Tables that the account has no privilege for: the data may be larger than seen (grant it SELECT).",
    UnreadCode.AT_START: "Which variables only a start can set: the account may not ask, so that the build's kind decides.",
}
"""What could not be read, where no figure says more."""


def unread(code: UnreadCode) -> Unread:
    """Return what could not be read, of a code without figures."""
    return Unread(code=code, text=_UNREAD[code])


def unread_defaults(build: str) -> Unread:
    """Return that nothing shows which variables somebody changed, for want of a build such as `mysql@8.0`."""
    text = (
        "Which variables are off their defaults: this server does not report it, and dialin has no build like it "
        f"({command_line('dialin servers install', build)}, then {command_line('dialin variables --server', build)})."
    )
    return Unread(code=UnreadCode.DEFAULTS, text=text)


def unread_load(queries: float) -> Unread:
    """Return that the server was nearly idle, with so many statements per second."""
    text = (
        f"A load: the server was nearly idle ({number(queries)} statements/s), so few rules had anything to go by. "
        "Watch it at its busiest (--seconds)."
    )
    return Unread(code=UnreadCode.IDLE, text=text)


def unread_by_probe(note: ProbeNote) -> Unread:
    return Unread(code=UnreadCode.PROBE, text=f"{probe_note_text(note)}.")


def watch_text(watch: Watch) -> str:
    """Return the load of the server while it was watched, in a sentence."""
    facts = [f"{number(watch.queries)} statements/s"] if watch.queries is not None else []
    facts += [f"{number(watch.running)} threads at work on average"] if watch.running is not None else []
    facts += [f"{size(watch.data)} of data"] if watch.data is not None else []
    load = f"under {watch.load}" if watch.load else "under its own load"
    return f"Watched for {duration(watch.seconds)} {load}: {listed(facts)}."


def value_list(variable: str, values: Sequence[Value]) -> str:
    """Return values as an option file would write them: `16M, 64M`; `not set` for one that is empty."""
    return ", ".join(value_text(variable, value) or "not set" for value in values)
