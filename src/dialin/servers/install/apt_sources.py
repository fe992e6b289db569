"""The package archives that this machine is set up to use, read from its own apt configuration."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

_MAIN = "main"
_UNSTABLE = ("sid", "unstable")
_CODENAMES = ("buster", "bullseye", "bookworm", "trixie", "forky", "duke", "sid")
_RELEASES = frozenset((*_CODENAMES, "oldoldstable", "oldstable", "stable", "testing", "unstable"))
_SUFFIXES = ("", "-updates", "-security")
_ARCHIVE_KEYRING = "debian-archive"
_NOT_OPTIONS = frozenset(("types", "uris", "suites", "components", "enabled", "architectures", "languages", "targets"))
_LONG_NAMES = {"arch": "architectures", "lang": "languages", "target": "targets"}
_ONE_LINE = re.compile(r"deb\s+(?:\[(?P<options>[^\]]*)\]\s+)?(?P<uri>\S+)\s+(?P<suite>\S+)(?P<components>(?:\s+\S+)*)\s*")


@dataclass(frozen=True, slots=True)
class Archive:
    """One suite (`bookworm-security`) of one archive; `options` are the other fields, such as `signed-by`, in lower case."""

    uri: str
    suite: str
    components: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)


def read_archives(directory: Path = Path("/etc/apt")) -> list[Archive]:
    """Return every binary archive of the machine's apt configuration; files that cannot be read are left out."""
    parts = directory / "sources.list.d"
    files = [directory / "sources.list", *sorted(parts.glob("*.list")), *sorted(parts.glob("*.sources"))]
    archives: list[Archive] = []
    for file in files:
        try:
            text = file.read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        archives += parse_stanzas(text) if file.suffix == ".sources" else parse_lines(text)
    return archives


def parse_lines(text: str) -> list[Archive]:
    """Read the one-line format of `sources.list`."""
    archives = []
    for line in text.splitlines():
        match = _ONE_LINE.fullmatch(line.partition("#")[0].strip())
        if not match or match["uri"].startswith("cdrom:"):
            continue
        options = dict(part.partition("=")[::2] for part in shlex.split(match["options"] or ""))
        fields = {_LONG_NAMES.get(name.lower(), name.lower()): value for name, value in options.items()}
        archives.append(Archive(match["uri"], match["suite"], tuple(match["components"].split()), _keep_options(fields)))
    return archives


def parse_stanzas(text: str) -> list[Archive]:
    """Read the deb822 format of `*.sources`."""
    archives = []
    for fields in _stanzas(text):
        if "deb" not in fields.get("types", "").split() or fields.get("enabled", "yes").strip().lower() in ("no", "false", "0"):
            continue
        components = tuple(fields.get("components", "").split())
        archives += [
            Archive(uri, suite, components, _keep_options(fields))
            for uri in fields.get("uris", "").split()
            for suite in fields.get("suites", "").split()
            if not uri.startswith("cdrom:")
        ]
    return archives


def _stanzas(text: str) -> Iterator[dict[str, str]]:
    fields: dict[str, str] = {}
    name = ""
    for line in [*text.splitlines(), ""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if fields:
                yield fields
            fields, name = {}, ""
        elif line[0] in " \t":
            fields[name] = f"{fields.get(name, '')}\n{line}"
        else:
            name, _, value = line.partition(":")
            name = name.strip().lower()
            fields[name] = value.strip()


def _keep_options(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name and name not in _NOT_OPTIONS}


def for_release(archives: Sequence[Archive], suite: str) -> list[Archive]:
    """Return the Debian archives among the given ones, with their suite changed to the release with this codename.

    Updates and security archives are included, except for `sid`, which has none. Only archives that name Debian's key are
    used; if there are none, those that name no key; and last, those that name another key (a private mirror).
    """
    debians = [each for each in archives if _MAIN in each.components and _release_of(each.suite)]
    groups = [[each for each in debians if _signer(each) == signer] for signer in ("debian", "unnamed", "other")]
    chosen = next(filter(None, groups), [])
    return list(_with_suite(chosen, suite))


def _release_of(suite: str) -> tuple[str, str] | None:
    for suffix in _SUFFIXES:
        if suite.removesuffix(suffix) in _RELEASES and suite.endswith(suffix):
            return suite.removesuffix(suffix), suffix
    return None


def _signer(archive: Archive) -> str:
    signed_by = archive.options.get("signed-by", "")
    if not signed_by:
        return "unnamed"
    return "debian" if _ARCHIVE_KEYRING in signed_by else "other"


def _with_suite(archives: Iterable[Archive], suite: str) -> Iterator[Archive]:
    distinct = set()
    for archive in archives:
        release = _release_of(archive.suite)
        if release is None or (release[1] and suite in _UNSTABLE):
            continue
        changed = Archive(archive.uri, f"{suite}{release[1]}", (_MAIN,), archive.options)
        if (changed.uri, changed.suite) not in distinct:
            distinct.add((changed.uri, changed.suite))
            yield changed


def render(archives: Iterable[Archive]) -> str:
    stanzas = []
    for archive in archives:
        lines = [
            "Types: deb",
            f"URIs: {archive.uri}",
            f"Suites: {archive.suite}",
            f"Components: {' '.join(archive.components)}",
        ]
        lines += [f"{name}: {value}" for name, value in archive.options.items()]
        stanzas.append("\n".join(lines) + "\n")
    return "\n".join(stanzas)
