import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin import text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(1234.4, "1,234"), (12.34, "12.3"), (1.234, "1.23"), (0.0042, "0.0042"), (0, "0"),
     (0.000012, "0.000012"), (-3.14e-8, "−0.000000031"), (1e-17, "0"), (-5, "−5.00"),
     (None, "–"), (float("nan"), "–"), (float("inf"), "–")],
)  # fmt: skip
def test_figures_have_few_digits(value, shown):
    assert text.number(value) == shown


@pytest.mark.parametrize(
    ("ratio", "shown"),
    [(1.0534, "+5.3 %"), (0.9, "−10.0 %"), (1, "0.0 %"), (0.99999, "0.0 %"), (None, "–"), (12, "+1,100.0 %")],
)
def test_a_ratio_is_reported_as_a_signed_change_and_never_as_minus_zero(ratio, shown):
    assert text.change(ratio) == shown


def test_a_chosen_share_keeps_the_digits_that_it_was_given():
    assert [text.exact_percent(share) for share in (0.95, 0.005, 0.01, 0.999)] == ["95 %", "0.5 %", "1 %", "99.9 %"]


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "0 s"),
        (59.4, "59 s"),
        (60, "1 min"),
        (380, "6 min 20 s"),
        (4320, "1 h 12 min"),
        (3600, "1 h"),
        (183_600, "2 d 3 h"),
        (-3, "0 s"),
    ],
)
def test_a_length_of_time_has_at_most_two_units(seconds, shown):
    assert text.duration(seconds) == shown


def test_an_estimate_of_time_does_not_pretend_to_know_seconds():
    assert (text.about(381), text.about(95)) == ("6 min", "1 min 35 s")


@pytest.mark.parametrize(
    ("count", "shown"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (1_048_575, "1.0 MiB"), (135_291_469_824, "126 GiB")]
)
def test_bytes_are_reported_in_their_unit(count, shown):
    assert text.size(count) == shown


def test_instants_are_utc_whatever_the_machine_thinks():
    assert text.moment(1_788_350_400) == "2026-09-02 12:00:00 UTC"


def test_characters_that_act_on_a_terminal_are_shown_as_escapes():
    assert text.visible("a\x1b[31m\x07\r\n\u202eb\udc80\x9b") == r"a\x1b[31m\x07\x0d\x0a\u202eb\udc80\x9b"


@given(st.text())
def test_nothing_that_was_made_visible_can_act(foreign):
    shown = text.visible(foreign)
    assert all(character.isprintable() or character.isspace() for character in text.ascii_only(shown))
    assert not set(shown) & {chr(code) for code in [*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F)]}
    assert text.visible(shown) == shown
    shown.encode()


def test_lines_of_a_log_stay_lines():
    assert text.visible_lines("a\tb\r\nc\x1b[0m") == "a   b\nc\\x1b[0m"


@given(st.text(min_size=1), st.integers(1, 40))
def test_a_shortened_name_fits(name, width):
    assert len(text.shorten(name, width)) <= width


def test_a_shortened_name_keeps_its_end_where_names_differ():
    assert text.shorten("innodb_buffer_pool_instances=16", 16).endswith("tances=16")


def test_a_percentage_is_not_torn_at_the_end_of_a_line():
    assert text.wrapped("it gains 29.1 % now", 13) == ["it gains", "29.1 % now"]


def test_a_word_that_has_no_room_beside_its_label_stands_whole_below_it():
    names = "innodb_flush_log_at_trx_commit, sync_binlog"
    assert text.wrapped(names, 40, indent="Left out, durability:") == ["Left out, durability:", *names.split(" ")]
    assert text.wrapped("x" * 12, 8, indent="- ", hanging="  ") == ["- xxxxxx", "  xxxxxx"]


def test_ascii_terminals_get_ascii():
    assert text.ascii_only("−5 % … ×2 ж") == "-5 % ~ x2 ?"


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("dialin sweep a=1,2 --attach --minutes 5", "dialin sweep a=1,2 --attach --minutes 5"),
        ("dialin run s.toml --restart-command 'mysqladmin -phunter2 x' --yes", "dialin run s.toml --restart-command '…' --yes"),
        ("dialin run s.toml '--restart-command=ssh a -phunter2'", "dialin run s.toml '--restart-command=…'"),
        ("dialin run 'it'\"'\"'s' --restart-command hunter2", "dialin run 'it'\"'\"'s' --restart-command '…'"),
        ("dialin run s.toml --restart-command 'hunter2", "dialin run s.toml --restart-command '…'"),
        ("dialin run s.toml --apply-command 'x.sh hunter2' --yes", "dialin run s.toml --apply-command '…' --yes"),
        ("dialin run s.toml '--apply-command=x.sh hunter2'", "dialin run s.toml '--apply-command=…'"),
        ("dialin run s.toml --snapshot-command 'x.sh hunter2' --yes", "dialin run s.toml --snapshot-command '…' --yes"),
        ("dialin run s.toml --apply-command 'hunter2", "dialin run s.toml --apply-command '…'"),
    ],
)
def test_a_command_is_shown_without_the_commands_that_it_was_given_which_may_hold_a_password(command, shown):
    assert text.without_secrets(command) == shown
    assert text.without_secrets(shown) == shown


def test_names_keep_the_part_that_distinguishes_them():
    files = ["before the upgrade of May.cnf", "before the upgrade of June.cnf"]
    assert text.distinct(files, 60) == files
    assert text.distinct(files, 11) == ["bef…May.cnf", "bef…une.cnf"]
    assert text.distinct(["a" * 9 + f"{n}" + "b" * 9 for n in "12"], 9) == ["…1…bbbbbb", "…2…bbbbbb"]


@given(st.lists(st.text(alphabet="ab=,_", min_size=1, max_size=40), min_size=2, max_size=9, unique=True), st.integers(10, 30))
def test_no_two_names_become_one(names, width):
    short = text.distinct(names, width)
    assert len(set(short)) == len(names)
    assert max(map(len, short)) <= width
