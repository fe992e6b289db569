"""Writes the good samples of verdict.json and of `dialin explain --json` in schema/, from the invented studies of the tests.

PYTHONPATH=tests python scripts/verdict_samples.py
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from dialin import json_documents
from dialin.model.record import StudyRecord
from dialin.model.why import Why
from dialin.sentences.verdict_sentences import add_sentences
from fixtures import example_reasons, example_studies

GOOD = Path(__file__).parents[1] / "schema" / "good"

VERDICTS: Mapping[str, Callable[[], StudyRecord]] = {
    "by-latency": example_studies.by_latency,
    "by-stability": example_studies.by_stability,
    "failed-candidates": example_studies.failed_candidate,
    "no-interval-yet": example_studies.inconclusive,
    "no-worthwhile-difference": example_studies.no_difference,
    "safe-choice": example_studies.safe_choice,
    "tie": example_studies.tie,
    "weaker-durability": example_studies.weaker_durability,
    "winner": example_studies.winner,
}
REASONS: Mapping[str, Callable[[StudyRecord], Why]] = {
    "every-part": example_reasons.full,
    "nothing-moved": example_reasons.nothing_moved,
    "nothing-watched": example_reasons.unknown,
}
DRIVER = {
    "driver": "dialin-load 0.1.0+5f1c, 1 load thread, gathering on, as the first trial chose",
    "driver_choices": [{"threads": 16, "load_threads": 1, "gather": True}],
}


def main() -> None:
    for name, make in VERDICTS.items():
        _write_verdict(name, make(), {})
    _write_verdict("driver-choices", example_studies.tie(), DRIVER)
    for name, explain in REASONS.items():
        (GOOD / f"why-{name}.json").write_text(json_documents.render(explain(example_studies.builds())), encoding="utf-8")


def _write_verdict(name: str, record: StudyRecord, workload: Mapping[str, object]) -> None:
    if record.verdict is None:
        raise ValueError(f"{name} has no verdict")
    verdict = record.verdict.model_copy(update={"workload": {**record.verdict.workload, **workload}})
    text = json_documents.render_verdict(add_sentences(record.spec, verdict))
    (GOOD / f"verdict-{name}.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
