from dialin.probes.kernel_files import read


def test_the_whole_text_is_read_however_long_it_is(tmp_path):
    path = tmp_path / "stat"
    path.write_bytes(b" a \xff" + b"b" * 200_000 + b"\n\n")
    assert read(path) == "a \N{REPLACEMENT CHARACTER}" + "b" * 200_000


def test_a_file_that_cannot_be_read_is_empty(tmp_path):
    assert read(tmp_path) == ""
    assert read(tmp_path / "absent") == ""
