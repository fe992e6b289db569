"""Studies that an earlier dialin stored are read with today's names."""

from dialin.model.verdict import CandidateState, Outcome, Verdict
from fixtures import example_studies


def test_what_was_unresolved_or_open_is_inconclusive():
    record = example_studies.inconclusive()
    stored = record.verdict.model_dump(mode="json", by_alias=True)
    stored["verdict"] = "unresolved"
    for candidate in stored["candidates"]:
        candidate["state"] = "open"
    read = Verdict.model_validate(stored)
    assert read.verdict is Outcome.INCONCLUSIVE
    assert {candidate.state for candidate in read.candidates} == {CandidateState.INCONCLUSIVE}
