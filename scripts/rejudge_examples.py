"""Reaches the verdicts of the stored example studies again, after verdicts changed; their trials stay as they were measured.

python scripts/rejudge_examples.py
"""

from __future__ import annotations

import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

from dialin.evidence.measured import figures_of
from dialin.evidence.proof_view import proof_view
from dialin.store.store import STUDY_FILE, Store
from dialin.verdict.reach_verdict import reach_verdict
from dialin.verdict.tune_verdict import tune_verdict

EXAMPLES = Path(__file__).parents[1] / "docs" / "example"


def main() -> None:
    for archive in sorted(EXAMPLES.glob("*.tar.xz")):
        with TemporaryDirectory() as scratch:
            with tarfile.open(archive) as packed:
                names = packed.getnames()
                packed.extractall(scratch, filter="data")
            rejudge(Path(scratch) / Path(names[0]).parts[0])
            with tarfile.open(archive, "w:xz", preset=9) as packed:
                for name in names:
                    packed.add(Path(scratch) / name, name, recursive=False, filter=_anonymous)


def rejudge(directory: Path) -> None:
    """Replace the verdict of a study, which this version may not be able to read."""
    with closing(sqlite3.connect(directory / STUDY_FILE)) as connection, connection:
        connection.execute("UPDATE study SET verdict = NULL")
    with Store.open(directory) as store:
        record, findings = store.read(), store.findings()
        if findings is None:
            verdict = reach_verdict(record).verdict
        else:
            shown = proof_view(record)
            verdict = tune_verdict(shown, figures_of(shown, shown.trials), findings)
            store.save_findings(verdict.tune or findings)
        look = record.looks[-1]
        store.save_verdict_of(look, verdict, decided=bool(look.decided))


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = member.mtime = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    main()
