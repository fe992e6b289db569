import pytest

from dialin.testing import records


@pytest.fixture(params=sorted(records.EVERY))
def record(request):
    """Every invented study in turn."""
    return records.EVERY[request.param]()


@pytest.fixture(params=sorted(name for name, make in records.EVERY.items() if make().verdict is not None))
def judged(request):
    """Every invented study that has a verdict."""
    return records.EVERY[request.param]()
