import re
from pathlib import Path

import plotly.graph_objects as go

from dialin.frames import columns
from fixtures import example_evidence
from schemas_and_columns import fill

ROOT = Path(__file__).parents[2]


def test_the_document_has_the_columns_that_frames_have():
    text = (ROOT / "docs" / "notebook.md").read_text()
    assert fill(text) == text, "run: make docs"


def test_every_frame_has_its_table_in_the_documents():
    text = (ROOT / "docs" / "notebook.md").read_text()
    assert all(f"<!-- columns of {name} -->" in text for name in columns.EVERY)


def test_the_code_of_the_document_runs_as_it_stands_there(kept, tmp_path, monkeypatch):
    text = (ROOT / "docs" / "notebook.md").read_text()
    code = "\n".join(re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL))
    name = re.search(r'open_study\("(.*?)"\)', code)[1]
    shown = []
    kept(example_evidence.waits_moved()).rename(tmp_path / name)
    monkeypatch.chdir(tmp_path)

    def show(figure):
        shown.append(figure)

    monkeypatch.setattr(go.Figure, "show", show)
    exec(compile(code, "notebook.md", "exec"), {})
    assert len(shown) == code.count(".show()") == 6
