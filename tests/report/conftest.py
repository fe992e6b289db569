import pytest

from dialin.testing import records


@pytest.fixture(params=sorted(records.EVERY))
def record(request):
    """Every invented study in turn."""
    return records.EVERY[request.param]()
