import pytest
from pydantic import TypeAdapter

from dialin.model.evidence import ProbeNote, ProbeNoteCode
from dialin.sentences.probe_notes import probe_note_text

CAUSE = {"code": "no_answer", "figures": {"place": "db1:3306", "words": "timed out"}}
FIGURES = {
    "cause": CAUSE,
    "counter": "Performance_schema_cond_instances_lost",
    "limit": 64 << 30,
    "lost": 3,
    "most": 5000,
    "pattern": "no_{such}",
    "privilege": "PROCESS",
    "probe": "status",
    "share": 0.01,
    "source": "SHOW ENGINE INNODB STATUS",
    "waits": 12,
    "words": "as {stored}",
}


@pytest.mark.parametrize("code", ProbeNoteCode)
def test_every_note_has_a_sentence_that_survives_the_store(code):
    note = ProbeNote(code, FIGURES)
    stored = TypeAdapter(ProbeNote).validate_python({"code": str(code), "figures": FIGURES})
    assert probe_note_text(stored) == probe_note_text(note) != ""
