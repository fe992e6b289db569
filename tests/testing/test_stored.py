from dataclasses import replace

import pytest

from dialin.store.store import Store
from dialin.testing import invented_why, records, stored


@pytest.mark.parametrize("make", [*records.EVERY.values(), invented_why.waits_moved, invented_why.levels])
def test_an_invented_record_is_read_back_as_it_was_kept(tmp_path, make):
    record = make()
    stored.keep(record, tmp_path)
    with Store.open(tmp_path) as store:
        found = store.read()
    samples = {trial: list(seconds) for trial, seconds in record.samples.items() if seconds}
    assert replace(found, directory="", samples={}) == replace(record, directory="", samples={})
    assert found.samples == samples
