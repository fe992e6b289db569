import pytest

from fixtures import example_studies


@pytest.fixture(params=sorted(example_studies.EVERY))
def record(request):
    """Every invented study in turn."""
    return example_studies.EVERY[request.param]()


@pytest.fixture(params=sorted(name for name, make in example_studies.EVERY.items() if make().verdict is not None))
def judged(request):
    """Every invented study that has a verdict."""
    return example_studies.EVERY[request.param]()
