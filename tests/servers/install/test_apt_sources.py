from __future__ import annotations

from pathlib import Path

from dialin.servers.install.apt_sources import Archive, for_release, parse_lines, parse_stanzas, read_archives, render

KEY = "/usr/share/keyrings/debian-archive-keyring.gpg"
DEB822 = f"""\
Types: deb deb-src
# a remark within a stanza
URIs: https://deb.example.org/debian
Suites: bookworm bookworm-updates
Components: main contrib
Signed-By: {KEY}

Types: deb
URIs: https://deb.example.org/debian-security
Suites: bookworm-security
Components: main
Signed-By: {KEY}

Types: deb
Enabled: no
URIs: https://off.example.org/debian
Suites: bookworm
Components: main

Types: deb-src
URIs: https://source.example.org/debian
Suites: bookworm
Components: main
"""


def test_every_suite_of_a_stanza_is_an_archive_and_disabled_and_source_stanzas_are_not():
    archives = parse_stanzas(DEB822)
    assert [(each.uri, each.suite) for each in archives] == [
        ("https://deb.example.org/debian", "bookworm"),
        ("https://deb.example.org/debian", "bookworm-updates"),
        ("https://deb.example.org/debian-security", "bookworm-security"),
    ]
    assert archives[0].components == ("main", "contrib")
    assert archives[0].options == {"signed-by": KEY}


def test_a_key_written_into_the_stanza_is_kept_whole():
    inline = "Signed-By:\n -----BEGIN PGP PUBLIC KEY BLOCK-----\n .\n mQINBF\n -----END PGP PUBLIC KEY BLOCK-----"
    text = f"Types: deb\nURIs: https://deb.example.org/debian\nSuites: bookworm\nComponents: main\n{inline}\n"
    (archive,) = parse_stanzas(text)
    (again,) = parse_stanzas(render([archive]))
    assert again == archive
    assert "mQINBF" in archive.options["signed-by"]


def test_the_one_line_format_is_read_with_its_options():
    text = f"""
# deb https://off.example.org/debian bookworm main
deb [arch=amd64 signed-by={KEY}] https://deb.example.org/debian bookworm main contrib # the mirror
deb-src https://deb.example.org/debian bookworm main
deb cdrom:[Debian 12]/ bookworm main
deb https://flat.example.org/debian ./
nonsense
"""
    first, flat = parse_lines(text)
    assert first == Archive("https://deb.example.org/debian", "bookworm", ("main", "contrib"), {"signed-by": KEY})
    assert flat.components == ()


def test_both_formats_are_read_from_the_machines_configuration(tmp_path: Path):
    (tmp_path / "sources.list").write_text("deb https://one.example.org/debian bookworm main\n")
    (tmp_path / "sources.list.d").mkdir()
    (tmp_path / "sources.list.d" / "two.list").write_text("deb https://two.example.org/debian bookworm main\n")
    (tmp_path / "sources.list.d" / "three.sources").write_text(DEB822)
    (tmp_path / "sources.list.d" / "four.sources.off").write_text(DEB822)
    assert [each.uri.split("/")[2] for each in read_archives(tmp_path)] == [
        "one.example.org",
        "two.example.org",
        "deb.example.org",
        "deb.example.org",
        "deb.example.org",
    ]


def test_a_machine_without_apt_has_no_archives(tmp_path: Path):
    assert read_archives(tmp_path / "none") == []


def test_turned_to_sid_only_the_release_itself_is_left_and_its_key_is_kept():
    (archive,) = for_release(parse_stanzas(DEB822), "sid")
    assert archive == Archive("https://deb.example.org/debian", "sid", ("main",), {"signed-by": KEY})


def test_turned_to_its_own_release_a_machine_keeps_updates_and_security():
    suites = [(each.uri.rsplit("/", 1)[-1], each.suite) for each in for_release(parse_stanzas(DEB822), "bookworm")]
    assert suites == [("debian", "bookworm"), ("debian", "bookworm-updates"), ("debian-security", "bookworm-security")]


def test_a_later_release_is_turned_to_an_earlier_one():
    later = [
        Archive("https://deb.example.org/debian", "trixie", ("main",)),
        Archive("https://x.example.org", "stable", ("main",)),
    ]
    assert [each.suite for each in for_release(later, "bookworm")] == ["bookworm", "bookworm"]


def test_the_same_archive_is_not_named_twice():
    twice = [Archive("https://deb.example.org/debian", suite, ("main",)) for suite in ("trixie", "bookworm")]
    assert len(for_release(twice, "sid")) == 1


def test_archives_of_somebody_else_are_not_taken_for_debians():
    others = [
        Archive("https://deb.example.org/docker", "bookworm", ("stable",)),
        Archive("https://deb.example.org/pg", "bookworm-pgdg", ("main",)),
        Archive("https://deb.example.org/ubuntu", "noble", ("main",)),
        Archive("https://deb.example.org/node", "nodistro", ("main",)),
        Archive("https://deb.example.org/debian", "bookworm-backports", ("main",)),
    ]
    assert for_release(others, "sid") == []


def test_an_archive_with_debians_key_is_preferred_to_one_with_another_or_none():
    vendor = Archive("https://vendor.example.org", "bookworm", ("main",), {"signed-by": "/etc/apt/keyrings/vendor.gpg"})
    unnamed = Archive("https://unnamed.example.org", "bookworm", ("main",))
    debian = Archive("https://deb.example.org", "bookworm", ("main",), {"signed-by": KEY})
    assert for_release([vendor, unnamed, debian], "sid")[0].uri == debian.uri
    assert for_release([vendor, unnamed], "sid")[0].uri == unnamed.uri
    assert for_release([vendor], "sid")[0].uri == vendor.uri
