"""What the tests of the live page share."""

import pytest

from dashboard.writing import Study


@pytest.fixture
def study(tmp_path, spec):
    made = Study(tmp_path / "study", spec)
    yield made
    made.store.close()
