"""The record of a changed server is read whole, or named as damaged: an altered one is no fault of dialin."""

import json
from dataclasses import fields

import pytest

from dialin.errors import UserError
from dialin.servers.attached.entry import UndoEntry, changed, read

ODD = (None, 5, -1.5, "x", "\0", [], {}, [None], [[]], {"x": None}, {"x": []}, {"x": {"y": [5]}}, True, "9" * 5000)


def test_whatever_is_altered_a_record_is_read_or_named(log, begin):
    path = log._path(begin("max_connections").id)
    whole = json.loads(path.read_text())
    assert read(path) is not None
    named = 0
    for field in fields(UndoEntry):
        for value in ODD:
            path.write_text(json.dumps({**whole, field.name: value}))
            try:
                entry = read(path)
            except UserError:
                named += 1
            else:
                entry.differing({"max_connections": "1"})
                assert entry.where in f"{entry.where} {entry.host} {entry.studied_by}"
    assert named > 200


@pytest.mark.parametrize("text", ["", "[]", "5", '"id"', "null", "[" * 100_000, '{"id": ' + "9" * 5000 + "}", '{"id": "x"}'])
def test_what_is_no_record_is_named(tmp_path, text):
    path = tmp_path / "one.json"
    path.write_text(text)
    with pytest.raises(UserError, match="dialin restore --forget one"):
        read(path)


def test_names_of_files_that_follow_the_name_of_a_container_are_no_change():
    before = {"hostname": "69eb7dac3f90", "pid_file": "/data/69eb7dac3f90.pid", "back_log": "70", "log_error": "/data/a.err"}
    again = {"hostname": "ca5d2cd4af30", "pid_file": "/data/ca5d2cd4af30.pid", "back_log": "80", "log_error": "/data/b.err"}
    assert changed(before, again) == {"back_log": "80", "log_error": "/data/b.err"}
