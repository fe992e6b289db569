import pytest

from dialin.testing import invented_why, records, stored


@pytest.fixture
def kept(tmp_path):
    """Keeps invented records, each in a study's directory of its own, and returns that."""
    number = 0

    def keep(record):
        nonlocal number
        number += 1
        directory = tmp_path / f"study-{number}"
        directory.mkdir()
        stored.keep(record, directory)
        return directory

    return keep


@pytest.fixture(params=sorted([*records.EVERY, "waits_moved", "unseen"]))
def record(request):
    """Every invented study in turn, two of them made for what probes see."""
    make = records.EVERY.get(request.param) or getattr(invented_why, request.param)
    return make()
