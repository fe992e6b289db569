"""Reads from a shell script that made runs whether it started the server anew for each of them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

_LOOP = re.compile(r"(?:for|while|until)\b\s*\(*(\w*)(.*)")
_FUNCTION = re.compile(r"(?:function\s+)?([\w-]+)\s*(?:\(\s*\))?\s*\{?")
_IS_FUNCTION = re.compile(r"function\s+[\w-]+|[\w-]+\s*\(\s*\)")
_RUNS_LOAD = re.compile(
    r"\bsysbench\b.*\brun\b|\btpcc_start\b|\bmysqlslap\b|\bgo-tpc\b.*\brun\b|\bhammerdbcli\b|\bycsb\b.*\brun\b"
)
_SERVERS = r"mysql|maria|percona|(?<![a-z])db|server"
_SERVER_PROGRAM = re.compile(r"(?:mysqld|mariadbd)(?:[_-]safe)?")
_NO_SERVER = re.compile(r"--(?:initialize|version|help|validate-config)|\s-V\b")
_STARTS = re.compile(
    rf"(?<![a-z])(?:re)?start[\s_./@-]*(?:{_SERVERS})(?!\w*[_.-]?(?:exporter|monitor|stat|agent|log))"
    rf"|(?:{_SERVERS})[a-z]*(?:\.server|\.sh)?[\s_./\"'-]+(?:re)?start(?![a-z]|[_.-]?(?:exporter|monitor|stat|agent|log))"
    rf"|\b(?:docker|podman)\b(?>.*?\b(?:run|up)\b).*(?:{_SERVERS})",
    re.IGNORECASE,
)
_ORDINARY = """
    [ [[ (( : } ) ;; fi done esac case test true false let expr bc seq echo printf log date sleep wait read return exit break
    continue local declare typeset export readonly unset set shift trap cd pwd pushd popd mkdir rmdir rm cp mv ln ls cat head
    tail tee touch grep egrep fgrep awk sed cut sort uniq tr wc find basename dirname chmod chown gzip zstd xz tar sync sysctl
    ulimit mysql mysqladmin mysqldump mariadb mariadb-admin mariadb-dump sysbench kill killall pkill pidof pgrep pidstat ps perf
    iostat vmstat mpstat dstat sar top free df du uptime uname hostname lscpu nproc lsblk jq
"""
_ORDINARY_WORDS = frozenset(_ORDINARY.split())
"""Programs that start no server, unless a command of theirs says so."""
_MAY_STOP = re.compile(
    r"(?:p?kill\w*|systemctl|service)\b.*(?:mysql|maria|percona|\$\{?(?!\w*mon)\w*(?:my|srv|server|db|service|unit))"
    r"|(?:mysql|maria)\S*\s.*\b(?:shutdown|restart)\b",
    re.IGNORECASE,
)
"""Commands that may stop a server, which something that the script does not show would start again."""
_BEFORE = re.compile(
    r"(?:(?:do|then|else|if|elif|!|time|nohup|exec|command|setsid|\{|\(+)\s+|\((?!\()\s*"
    r"|(?:sudo|env|nice|ionice)\s+(?:-[ugcn]\s+\w+\s+|-\w+\s+)*"
    r"|(?:numactl|taskset|timeout)\s+(?:-\S+\s+)*(?:[\d,-]+[smh]?\s+)?|[\w|*]+\)\s+"
    r"|\w+=[\"']?(?:\$\((?!\()|`)\s*|\w+=(?:\"[^\"]*\"|'[^']*'|[^\s$`(]*|\$\{?\w+\}?)\s+)+"
)
"""What may stand before the word of a command."""
_NUMBERS_RUNS = re.compile(
    r"_?(?:r|runs?|reps?|repeat|iter|iteration|n|k|trial|try|attempt|round|pass|count)_?\d?", re.IGNORECASE
)
_COUNTS = re.compile(
    r"\bin\s+(?:1\s+2(?:\s+3(?:\s+4(?:\s+5)?)?)?\s*$|\{1\.\.\d\}|[`$(]+\s*seq\s+(?:1\s+)?(?:\d|\$\w+)\b)|=\s*[01]\s*,"
)
_SPLIT = re.compile(r"\n|;|&&|\|\|")
_HERE = re.compile(r"(?<!<)<<-?\s*[\"']?(\w+)[\"']?")
_LONGEST, _LONGEST_COMMAND, _MOST_STEPS, _DEEPEST = 256 * 1024, 4000, 10_000, 50
"""Characters of a script and of a command, and the commands, and calls of functions within each other, that are followed. A
script may be anybody's: a few lines of it can call functions without end."""
_OF_LOAD = re.compile(r"t|th|thr|threads?|thds|c|conns?|clients?|users?|rate", re.IGNORECASE)

_Event = tuple[str, tuple[int, ...], str]
"""A run, a start of a server, or a command that may be one, with the loops around it and the word of the command."""


def restarts_between(script: str) -> bool | None:
    """Return whether a shell script starts the server anew for each repeat of a run; None where it does not say.

    It says so where a loop that numbers the repeats is around the load program: a server is started in that loop, or is not.
    A loop that runs what the script does not show, such as another script, does not say that none is.
    """
    if len(script) > _LONGEST:
        return None
    repeating: set[int] = set()
    functions: dict[str, list[_Event]] = {}
    main: list[_Event] = []
    loops: list[int] = []
    function, depth, number = "", 0, 0
    for command in _commands(script):
        events = functions.setdefault(function, []) if function else main
        word = command.split()[0].strip("\"'").rpartition("/")[2].strip("\"'")
        if loop := _LOOP.match(command):
            number += 1
            loops.append(number)
            if _NUMBERS_RUNS.fullmatch(loop[1]) or (_COUNTS.search(loop[2]) and not _OF_LOAD.fullmatch(loop[1])):
                repeating.add(number)
        elif word == "done" and loops:
            loops.pop()
        elif not function and _IS_FUNCTION.match(command) and (name := _FUNCTION.match(command)):
            function, depth = name[1], len(loops)
            functions.setdefault(function, [])
        elif function and word == "}" and len(loops) == depth:
            function = ""
        elif kind := _kind(command, word):
            events.append((kind, tuple(loops), word))
    steps = iter(range(_MOST_STEPS))
    made = list(_expanded(main, functions, (), steps))
    if next(steps, None) is None:
        return None
    repeated = {loop for kind, around in made if kind == "run" for loop in around if loop in repeating}
    if not repeated:
        return None
    started = {loop for kind, around in made if kind == "start" for loop in around}
    hidden = {loop for kind, around in made if kind == "hidden" for loop in around}
    return True if repeated <= started else None if (repeated - started) & hidden else False


def _kind(command: str, word: str) -> str:
    """Return whether a command is a run, a start of a server, or hides what it does; an empty text for any other."""
    if _RUNS_LOAD.search(command):
        return "run"
    if _SERVER_PROGRAM.fullmatch(word):
        return "" if _NO_SERVER.search(command) else "start"
    is_ordinary = word in _ORDINARY_WORDS and "init.d/" not in command
    if not is_ordinary and _STARTS.search(command):
        return "start"
    if re.match(r"\w+\+?=", word):
        return ""
    return "hidden" if not (is_ordinary or word in ("systemctl", "service")) or _MAY_STOP.match(command) else ""


def _expanded(
    events: Sequence[_Event], functions: Mapping[str, Sequence[_Event]], inside: tuple[str, ...], steps: Iterator[int]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield events with those of the functions that they call in the place of the calls, until no step is left."""
    for kind, around, word in events:
        if next(steps, None) is None:
            return
        if word not in functions:
            yield kind, around
        elif word not in inside and len(inside) < _DEEPEST:
            for inner, loops in _expanded(functions[word], functions, (*inside, word), steps):
                yield inner, (*around, *loops)


def _commands(script: str) -> list[str]:
    """Return the commands of a script, without comments, and without the words that only begin a body."""
    text = _without_documents(re.sub(r"(?m)(?:^|\s)#.*$", "", script.replace("\\\n", " ")))
    text = re.sub(r"\"[^\"\n]*\"|'[^'\n]*'", lambda match: re.sub(r";|&&|\|\|", " ", match[0]), text)
    text = re.sub(r"\(\((?:(?!\(\().)*?\)\)", lambda match: match[0].replace(";", ","), text)
    text = re.sub(r"(\(\s*\)|\bfunction\s+[\w-]+)\s*\{", r"\1\n", text)
    stripped = (
        _BEFORE.sub("", part, count=1) if _BEFORE.match(part) else part
        for part in (each.strip()[:_LONGEST_COMMAND] for each in _SPLIT.split(text))
    )
    return [part for part in stripped if part and part not in ("do", "then", "else", "{", "(", ")")]


def _without_documents(script: str) -> str:
    """Return a script without the texts that it feeds to programs (`<<END` to `END`)."""
    lines = script.split("\n")
    last = {line.strip(): number for number, line in enumerate(lines)}
    kept: list[str] = []
    end = ""
    for number, line in enumerate(lines):
        if end:
            end = end if line.strip() != end else ""
        elif (found := _HERE.search(line)) and last.get(found[1], -1) > number:
            end = found[1]
            kept.append(line[: found.start()] + line[found.end() :])
        else:
            kept.append(line)
    return "\n".join(kept)
