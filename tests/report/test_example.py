import tarfile

from dialin.evidence.why_verdict import explain
from dialin.report.render import html
from dialin.sentences import verdict_sentences
from dialin.store.store import Store
from fixtures.example_studies import STORED_EXAMPLE


def test_the_stored_example_study_is_small_and_can_be_opened(tmp_path):
    assert STORED_EXAMPLE.stat().st_size < 600_000
    with tarfile.open(STORED_EXAMPLE) as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # from Python 3.11.4 on
        packed.extractall(tmp_path)
    with Store.open(tmp_path / "example-study") as store:
        record = store.read()
    assert record.verdict is not None
    body = html.body(record, explain(record))
    assert body.title == verdict_sentences.headline(record)
    assert "Variables not at their default" in body.main
