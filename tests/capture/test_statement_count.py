"""Statements are counted while the log grows, wherever the pieces end."""

import pytest

from dialin.capture import log_settings
from dialin.capture.log_settings import Source, StatementCount

ENTRY = (
    b"# Time: 2026-11-23T06:01:25.834957Z\n# User@Host: root[root] @ localhost []  Id:    24\n# Query_time: 0.1\nselect 1;\n"
)
GENERAL = b"\t\t    6 Query\tselect 1\n\t\t    6 Execute\tselect 2\n"


@pytest.mark.parametrize(("source", "text", "each"), [(Source.SLOW, ENTRY, 1), (Source.GENERAL, GENERAL, 2)])
@pytest.mark.parametrize("piece", [1, 7, 50, 10_000])
def test_each_statement_is_counted_once(tmp_path, monkeypatch, source, text, each, piece):
    monkeypatch.setattr(log_settings, "_CHUNK", piece)
    log = tmp_path / "a.log"
    log.write_bytes(b"mysqld, Version: 9.7.4. started with:\n")
    with StatementCount(log.open("rb"), source) as statements, log.open("ab", buffering=0) as file:
        assert statements.count() == 0
        for times in (1, 2):
            file.write(text[:40])
            statements.count()
            file.write(text[40:])
            assert statements.count() == times * each
