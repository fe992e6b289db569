import pytest

from dialin.model.setting import (
    as_number,
    canonical_name,
    describe,
    means_off,
    means_on,
    parse_value,
    same_value,
    share_of,
)


@pytest.mark.parametrize(
    ("asked", "in_force"),
    [("1G", "1073741824"), (1, "ON"), ("on", "1"), ("OFF", 0), ("128M", 134217728), ("b,a", "a,b"), (" x ", "X"), (0.5, "0.5")],
)
def test_two_spellings_of_one_value_are_the_same(asked, in_force):
    assert same_value(asked, in_force)


@pytest.mark.parametrize(
    ("asked", "in_force"), [(131073, "131072"), ("ON", "OFF"), ("a,b", "a"), ("O_DIRECT", "fsync"), (2, "ON")]
)
def test_different_values_are_not(asked, in_force):
    assert not same_value(asked, in_force)


@pytest.mark.parametrize(
    ("value", "on", "off"),
    [("ON", True, False), (1, True, False), ("yes", True, False), ("Off", False, True), (0, False, True),
     ("DEMAND", False, False), ("", False, False), (None, False, False)],
)  # fmt: skip
def test_a_switch_is_on_off_or_neither(value, on, off):
    assert (means_on(value), means_off(value)) == (on, off)


def test_names_take_the_servers_own_spelling():
    assert canonical_name(" Innodb-Buffer-Pool-Size ") == "innodb_buffer_pool_size"


@pytest.mark.parametrize("text", ["", "1x", "a b", "a;drop", "a=b", "a\nb", "é"])
def test_text_that_cannot_be_a_name_never_reaches_sql(text):
    with pytest.raises(ValueError, match="cannot be the name"):
        canonical_name(text)


def test_values_keep_the_form_they_were_requested_in():
    assert [parse_value(text) for text in ("8", "0.5", "1G", "ON", "-1")] == [8, 0.5, "1G", "ON", -1]
    assert as_number("16k") == 16384
    assert as_number("ON") is None
    assert describe({"a": 1, "b": "1G"}) == "a=1, b=1G"
    assert describe({}) == "as it is"


@pytest.mark.parametrize(("written", "share"), [("20%", 0.2), (" 20 % ", 0.2), ("0.2", 0.2), ("1e-3", 0.001)])
def test_a_share_is_read_as_people_write_it(written, share):
    assert share_of(written) == share


@pytest.mark.parametrize("written", ["", "%", "a fifth", "20 %%"])
def test_text_that_is_no_share_is_refused_with_an_example(written):
    with pytest.raises(ValueError, match=r"such as 20% or 0\.2"):
        share_of(written)
