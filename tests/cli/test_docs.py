import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_written_commands_are_the_programs_own_help(tmp_path):
    written = tmp_path / "cli.md"
    words = ["dialin.cli.app", "utils", "docs", "--name", "dialin", "--title", "The commands of dialin", "--output", written]
    subprocess.run([sys.executable, "-m", "typer", *words], check=True, capture_output=True, cwd=tmp_path)
    assert (ROOT / "docs" / "cli.md").read_text() == written.read_text(), "run: make docs"
