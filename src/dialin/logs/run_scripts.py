"""Reads from a shell script that made runs whether it started the server anew for each of them. Pure."""

from __future__ import annotations

import re

_LOOP = re.compile(r"(?:for|while|until)\b\s*\(*(\w*)(.*)")
_FUNCTION = re.compile(r"(?:function\s+)?([\w-]+)\s*(?:\(\s*\))?\s*\{?")
_IS_FUNCTION = re.compile(r"function\s+[\w-]+|[\w-]+\s*\(\s*\)")
_RUNS_LOAD = re.compile(
    r"\bsysbench\b.*\brun\b|\btpcc_start\b|\bmysqlslap\b|\bgo-tpc\b.*\brun\b|\bhammerdbcli\b|\bycsb\b.*\brun\b"
)
_STARTS_SERVER = re.compile(
    r"(?:^|[\s/])(?:mysqld(?:_safe)?|mariadbd(?:-safe)?)(?=\s|$)|(?:^|[\s_/.-])(?:re)?start(?=$|[\s_.-]|mysql|maria|server|db)"
    r"|\b(?:docker|podman)\b.*\b(?:run|up)\b"
)
_SAYS = re.compile(r"(?:echo|printf|log|date|sleep|mkdir|grep|tee)\b|\w+=|if\b|\[")
_NUMBERS_RUNS = re.compile(
    r"_?(?:r|runs?|reps?|repeat|iter|iteration|n|k|trial|try|attempt|round|pass|count)_?\d?", re.IGNORECASE
)
_COUNTS = re.compile(
    r"\bin\s+(?:1\s+2(?:\s+3(?:\s+4(?:\s+5)?)?)?\s*$|\{1\.\.\d\}|[`$(]+\s*seq\s+(?:1\s+)?(?:\d|\$\w+)\b)|=\s*[01]\s*,"
)
_OF_LOAD = re.compile(r"t|th|thr|threads?|thds|c|conns?|clients?|users?|rate", re.IGNORECASE)

_Event = tuple[str, tuple[int, ...]]
"""A run, or a start of a server, with the loops around it."""


def restarts_between(script: str) -> bool | None:
    """Return whether a shell script starts the server anew for each repeat of a run; None where it does not say.

    It says so where a loop that numbers the repeats is around the load program: a server is started in that loop, or is not.
    """
    repeating: set[int] = set()
    functions: dict[str, list[_Event]] = {}
    main: list[_Event] = []
    loops: list[int] = []
    function, depth, number = "", 0, 0
    for command in _commands(script):
        events = functions.setdefault(function, []) if function else main
        word = command.split()[0]
        if loop := _LOOP.match(command):
            number += 1
            loops.append(number)
            if _NUMBERS_RUNS.fullmatch(loop[1]) or (_COUNTS.search(loop[2]) and not _OF_LOAD.fullmatch(loop[1])):
                repeating.add(number)
        elif word == "done" and loops:
            loops.pop()
        elif not function and _IS_FUNCTION.match(command) and (name := _FUNCTION.match(command)):
            function, depth = name[1], len(loops)
        elif function and word == "}" and len(loops) == depth:
            function = ""
        elif word in functions and word != function:
            events += [(kind, (*loops, *inner)) for kind, inner in functions[word]]
        elif _RUNS_LOAD.search(command):
            events.append(("run", tuple(loops)))
        elif _STARTS_SERVER.search(command) and not _SAYS.match(command):
            events.append(("start", tuple(loops)))
    repeated = {loop for kind, around in main if kind == "run" for loop in around if loop in repeating}
    if not repeated:
        return None
    started = {loop for kind, around in main if kind == "start" for loop in around}
    return repeated <= started


def _commands(script: str) -> list[str]:
    """Return the commands of a script, without comments, and without the words that only begin a body."""
    text = re.sub(r"(?m)(?:^|\s)#.*$", "", script.replace("\\\n", " "))
    text = re.sub(r"\(\(.*?\)\)", lambda match: match[0].replace(";", ","), text)
    text = re.sub(r"(\(\s*\)|\bfunction\s+[\w-]+)\s*\{", r"\1\n", text)
    parts = re.split(r"\n|;|&&|\|\|", text)
    stripped = (re.sub(r"^(?:(?:do|then|else|sudo|time|nohup|\{)\s+)+", "", part.strip()) for part in parts)
    return [part for part in stripped if part and part not in ("do", "then", "else", "{")]
