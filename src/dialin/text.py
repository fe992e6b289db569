"""Formatting for display: numbers with a sensible precision, and text from outside with its control characters escaped."""

from __future__ import annotations

import math
import re
import shlex
import textwrap
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from itertools import takewhile
from pathlib import PurePath

NOTHING = "–"
"""Shown in place of a figure that is not available."""

_NOTHING_BUT_ROUNDING = 1e-9
"""Figures smaller than this are shown as 0: no measure is so small, but differences of floating-point numbers are."""

UNSEEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff\U000e0000-\U000e007f]"
)
"""Characters that cannot be seen: control characters, directional overrides, zero-width characters, lone surrogates."""

_TO_ASCII = str.maketrans(
    {
        "−": "-",
        "–": "-",
        "±": "+/-",
        "×": "x",
        "…": "~",
        "→": "->",
        "·": "-",
        "’": "'",
        "µ": "u",
        "σ": "sigma",
        "κ": "kappa",
        "\u00a0": " ",
    }
)
_COMMAND_OPTIONS = ("--restart-command", "--apply-command", "--snapshot-command")
"""Options whose value may contain a password."""

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def visible(text: object) -> str:
    r"""Return text from outside on one line, with an escape for each character that cannot be seen.

    Control characters, directional overrides, zero-width characters and lone surrogates become `\x1b` or `\u202e`.
    """
    return UNSEEN.sub(_escape, str(text))


def visible_lines(text: object) -> str:
    """Return text of several lines, escaped as by `visible`, with line ends kept and tabs replaced by spaces."""
    lines = str(text).replace("\r\n", "\n").split("\n")
    return "\n".join(visible(line.expandtabs(4)) for line in lines)


def command_line(command: str, *words: object) -> str:
    """Return a command that the user may paste into a shell: what is typed as it is here, then words such as paths, quoted."""
    return " ".join([command, *(shlex.quote(str(word)) for word in words)])


def how_to_resume(directory: PurePath | str, minutes: float | None = None) -> str:
    """Return the command that resumes a study or a suite, with so many minutes in total if they are given."""
    resume = command_line("dialin resume", directory)
    return resume if minutes is None else f"{resume} --minutes {minutes:.0f}"


def without_secrets(command: str) -> str:
    """Return a command line of dialin without the commands that it was given, which may contain a password."""
    given = [option for option in _COMMAND_OPTIONS if option in command]
    if not given:
        return command
    try:
        words = shlex.split(command)
    except ValueError:  # not a valid command line: where the secret ends is unknown, so everything after the option is dropped
        first = min(given, key=command.index)
        return f"{command.partition(first)[0]}{first} '…'"
    shown = ["…" if before in _COMMAND_OPTIONS else word for before, word in zip(["", *words], words, strict=False)]
    names = [word.partition("=")[0] if "=" in word else "" for word in shown]
    return shlex.join(f"{name}=…" if name in _COMMAND_OPTIONS else word for name, word in zip(names, shown, strict=True))


def wrapped(text: str, width: int, *, indent: str = "", hanging: str = "") -> list[str]:
    """Return text in lines of at most `width` characters, never breaking a line before a % sign, or a word that has room."""
    text = text.replace(" %", "\u00a0%")
    first = len(next(iter(text.split(" ", 1))))
    if len(hanging) + first <= width < len(indent) + first:
        return [indent.rstrip(), *wrapped(text, width, indent=hanging, hanging=hanging)]
    lines = textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=hanging, break_on_hyphens=False)
    return [line.replace("\u00a0", " ") for line in lines]


def ascii_only(text: str) -> str:
    """Return text for a terminal that shows only ASCII."""
    return text.translate(_TO_ASCII).encode("ascii", "replace").decode("ascii")


def shorten(text: str, width: int) -> str:
    """Return text of at most `width` characters, shortened in the middle because names mostly differ at their end."""
    if len(text) <= width:
        return text
    if width <= 1:
        return "…"[:width]
    head = (width - 1) // 3
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"


def distinct(texts: Sequence[str], width: int) -> list[str]:
    """Return texts of at most `width` characters, different ones for different texts.

    Texts are shortened in the middle. If that makes two alike, the common beginning of all texts is left out; if that is not
    enough, the texts are numbered.
    """
    if not texts:
        return []
    different = sorted(set(texts))
    common = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(different[0], different[-1], strict=False)))
    tails = [f"…{text[common:]}" for text in texts]
    numbered = [f"{different.index(text) + 1}: {text}" for text in texts]
    for attempt in (texts, tails):
        short = [shorten(text, width) for text in attempt]
        if len(set(short)) == len(different):
            return short
    return [text if len(text) <= width else f"{text[: width - 1]}…" for text in numbered]


def number(value: float | None) -> str:
    """Return a figure in two to four significant digits, thousands set apart: `1,234`, `12.3`, `0.004`, `0.000052`."""
    if value is None or not math.isfinite(value):
        return NOTHING
    size = abs(value)
    if size >= 100 or value == 0:
        text = f"{value:,.0f}"
    elif size >= 10:
        text = f"{value:.1f}"
    elif size >= 1:
        text = f"{value:.2f}"
    else:
        text = f"{Decimal(f'{value:.2g}'):f}" if size >= _NOTHING_BUT_ROUNDING else "0"
    return text.replace("-", "−")


def percent(share: float | None) -> str:
    """Return a share as a percentage with one decimal: 0.0123 is `1.2 %`."""
    if share is None or not math.isfinite(share):
        return NOTHING
    return f"{round(100 * share, 1) + 0.0:,.1f} %".replace("-", "−")


def exact_percent(share: float) -> str:
    """Return a configured share as a percentage with no more digits than it has: 0.95 is `95 %`, 0.005 is `0.5 %`."""
    return f"{round(100 * share, 2):g} %"


def change(ratio: float | None) -> str:
    """Return a ratio as a signed change: 1.053 is `+5.3 %`, 0.9 is `−10.0 %`, 1 is `0.0 %`."""
    bare = bare_change(ratio)
    return bare if bare == NOTHING else f"{bare} %"


def bare_change(ratio: float | None) -> str:
    """Return the same without its percent sign, for where one sign stands for several."""
    if ratio is None or not math.isfinite(ratio):
        return NOTHING
    value = round(100 * (ratio - 1), 1) + 0.0
    return f"{value:+,.1f}".replace("-", "−") if value else "0.0"


def duration(seconds: float) -> str:
    """Return a length of time in its two largest units: `45 s`, `6 min 20 s`, `1 h 12 min`, `2 d 3 h`."""
    whole = max(0, round(seconds))
    for size, name, small_size, small_name in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // small_size
            return f"{whole // size} {name} {rest} {small_name}" if rest else f"{whole // size} {name}"
    return f"{whole} s"


def about(seconds: float) -> str:
    """Return an estimated length of time, in whole minutes once it is longer than two of them."""
    return duration(60 * round(seconds / 60)) if seconds > 120 else duration(seconds)


def moment(epoch: float) -> str:
    """Return an instant in UTC, to the second: `2026-09-02 12:00:41 UTC`."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def clock_time(epoch: float) -> str:
    """Return the time of day of an instant in UTC: `12:00:41`."""
    return datetime.fromtimestamp(epoch, UTC).strftime("%H:%M:%S")


def size(count: float) -> str:
    """Return a count of bytes in its binary unit: `126 GiB`."""
    value, unit = float(count), 0
    while round(abs(value)) >= 1024 and unit < len(_UNITS) - 1:  # 1048575 is 1.0 MiB, not 1024 KiB
        value, unit = value / 1024, unit + 1
    return f"{value:.0f} {_UNITS[unit]}" if value >= 10 or unit == 0 else f"{value:.1f} {_UNITS[unit]}"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun, which takes a plain s: `1 block`, `3 blocks`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def span(values: Sequence[float], show: Callable[[float], str]) -> str:
    """Return the lowest and the highest value, `2 to 8`; one figure where both look alike."""
    low, high = show(min(values)), show(max(values))
    return low if low == high else f"{low} to {high}"


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence lists them: `1, 4 and 8`; `none` where there are none."""
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


_NUMBER = re.compile(r"[+-]?\d+(\.\d+)?")
_FORMULA = ("=", "+", "-", "@")


def csv_cell(text: str) -> str:
    """Return text as a cell of a CSV file that no spreadsheet takes for a formula and no terminal obeys."""
    shown = visible(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA) and not _NUMBER.fullmatch(shown) else shown
