import pytest

from fixtures import example_evidence, example_studies, stored_study


@pytest.fixture
def kept(tmp_path):
    """Keeps invented records, each in a study's directory of its own, and returns that."""
    number = 0

    def keep(record):
        nonlocal number
        number += 1
        directory = tmp_path / f"study-{number}"
        directory.mkdir()
        stored_study.keep(record, directory)
        return directory

    return keep


@pytest.fixture(params=sorted([*example_studies.EVERY, "waits_moved", "unseen"]))
def record(request):
    """Every invented study in turn, two of them made for what probes see."""
    make = example_studies.EVERY.get(request.param) or getattr(example_evidence, request.param)
    return make()
