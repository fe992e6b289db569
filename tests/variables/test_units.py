import pytest

from dialin.variables.units import about, with_letter


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1000, "1000"),
        (1024, "1K"),
        (5242880, "5M"),
        (2415919104, "2304M"),
        (2**30, "1G"),
        (2**30 - 4096, "1048572K"),
        (2147479552, "just under 2G"),
        (2**31, "2G"),
        (2**63 - 1, "just under 8E"),
        (2**64 - 4096, "just under 16E"),
        (-1, "-1"),
        (99.5, "99.5"),
    ],
)
def test_values_get_the_largest_letter_that_fits(number, text):
    assert with_letter(number) == text


@pytest.mark.parametrize(
    ("size", "text"),
    [(23 * 2**30, "23 GiB"), (1.5 * 2**30, "1.5 GiB"), (2**30, "1 GiB"), (300 * 2**20, "300 MiB"), (22.6 * 2**30, "23 GiB")],
)
def test_memory_is_told_as_people_say_it(size, text):
    assert about(size) == text
