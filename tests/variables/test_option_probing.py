from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialin.variables import option_probing
from dialin.variables.catalogue import Catalogue, Kind, Variable
from dialin.variables.help_mode import Reply, read_reply

DATA = Path(__file__).parent / "data"
BUILDS = ["mysql-5.5.9", "mysql-5.6.24", "mysql-9.7.4"]
MOST = 2**64 - 1


def recorded(name, *, ended_well=True):
    """What a real server printed, some options of it."""
    printed, _, complained = (DATA / f"help-{name}.txt").read_text().partition("==== stderr\n")
    return read_reply(f"\n{printed}", complained, ended_well=ended_well)


# What real servers print


@pytest.mark.parametrize("build", BUILDS)
def test_options_are_read_with_what_they_take(build):
    options = recorded(build).options
    assert options["read_buffer_size"] == "=#"
    assert options["binlog_format"] == "=name"
    assert options["log_bin"] == "[=name]"
    assert options["slow_query_log"] == ""


@pytest.mark.parametrize("build", BUILDS)
def test_values_are_read_to_the_end_of_the_table_and_no_further(build):
    values = recorded(build).values
    assert values["read_buffer_size"] == "131072"
    assert values["transaction_isolation"] == "REPEATABLE-READ"
    assert not {"to", "and"} & values.keys()


def test_an_empty_value_is_a_value():
    assert recorded("mysql-5.5.9").values["sql_mode"] == ""


@pytest.mark.parametrize("build", BUILDS)
def test_a_limit_is_what_the_server_warned_of_not_what_it_printed(build):
    """The largest number was asked for: 19190 is what this machine's files allow, -1 how 4294967295 is printed."""
    reply = recorded(f"{build}-high")
    assert reply.values["max_connections"] == "19190"
    assert reply.adjusted["max_connections"] == 100000
    assert reply.adjusted["sync_binlog"] == 4294967295
    assert reply.adjusted["lower_case_table_names"] == 2
    assert reply.adjusted["read_buffer_size"] == 2147479552
    assert reply.adjusted["innodb_buffer_pool_instances"] == 64
    assert "table_open_cache" not in reply.adjusted, "a limit of this machine's files is none of the variable"


@pytest.mark.parametrize("build", BUILDS)
def test_values_that_a_server_would_not_start_with_are_named(build):
    reply = recorded(f"{build}-refused", ended_well=False)
    assert reply.refused == {"binlog_format"}
    assert not reply.complete


@pytest.mark.parametrize("printed", ["", "Segmentation fault", "\nVariables (--variable-name=value)\n"])
def test_a_server_that_printed_nothing_reported_nothing(printed):
    assert not read_reply(printed, "", ended_well=True).complete


# What is asked, and what the answers mean: against a server that is made up


class RefusedError(Exception):
    pass


@dataclass
class Number:
    """A number that is brought into its range with a warning, and rounded down without one."""

    low: int = 0
    high: int = MOST
    block: int = 1
    signed: bool = False
    default: int = 0
    takes: str = "=#"
    chosen: int | None = None
    """What stands for 0."""
    cut: int | None = None
    """What it is brought down to after the warnings, by a limit of the machine."""

    def take(self, value):
        if self.signed and value >= 2**63:
            raise RefusedError
        if not self.signed and value < 0:
            value += 2**64
        limited = min(max(value, self.low), self.high)
        adjusted = limited if limited != value else None
        limited = max(limited - limited % self.block, self.low)
        if value == 0 and self.chosen is not None:
            return str(self.chosen), None
        return str(min(limited, self.cut) if self.cut else limited), adjusted


@dataclass
class Words:
    words: tuple[str, ...]
    default: int = 0
    takes: str = "=name"

    def take(self, value):
        if value >= len(self.words):
            raise RefusedError
        return self.words[value], None


@dataclass
class Flags:
    words: tuple[str, ...]
    nothing: str = ""
    default: int = 0
    takes: str = "=name"

    def take(self, value):
        if value >= 2 ** len(self.words):
            raise RefusedError
        return ",".join(word for digit, word in enumerate(self.words) if value >> digit & 1) or self.nothing, None


@dataclass
class Text:
    default: str = ""
    takes: str = "=name"

    def take(self, value):
        return str(value), None


class Server:
    """A server in its help mode. Options of InnoDB are read together: where one is refused, all keep their defaults."""

    def __init__(self, *, deadly=(), **options):
        self.options = options
        self.deadly = deadly
        self.asked = []

    def __call__(self, asked):
        self.asked.append(dict(asked))
        if set(asked) & set(self.deadly):
            return Reply(complete=False)
        values = {name: self._default(option) for name, option in self.options.items()}
        adjusted, refused, taken = {}, set(), {}
        for name, value in asked.items():
            try:
                taken[name], limit = self.options[name].take(value)
            except RefusedError:
                refused.add(name)
                continue
            if limit is not None:
                adjusted[name] = limit
        spoiled = any(name.startswith("innodb_") for name in refused)
        values |= {name: value for name, value in taken.items() if not (spoiled and name.startswith("innodb_"))}
        complete = all(name.startswith("innodb_") for name in refused)
        takes = {name: option.takes for name, option in self.options.items()}
        return Reply(complete, takes, values if complete else {}, adjusted, frozenset(refused))

    @staticmethod
    def _default(option):
        return option.default if isinstance(option, Text) else option.take(option.default)[0]

    def catalogue(self, **reported):
        """All variables as a server without tables tells them: names and defaults."""
        known = {name: Variable(name, Kind.UNKNOWN, default=self._default(option)) for name, option in self.options.items()}
        return Catalogue("mysql@5.6.24", known | reported)

    def probed(self, **reported):
        return option_probing.completed(self.catalogue(**reported), self).variables


def bounds(variable):
    return variable.minimum, variable.maximum, variable.block


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        (Number(8192, 2147479552, 4096, default=131072), (8192, 2147479552, 4096)),
        (Number(0, 64, default=8), (0, 64, None)),
        (Number(1, MOST, default=200), (1, MOST, None)),
        (Number(1024, MOST, 1024, default=8192), (1024, MOST - 1023, 1024)),
        (Number(100, MOST, 100, default=300), (100, MOST - MOST % 100, 100)),
        (Number(5242880, 2**63 - 1, 2**20, signed=True, default=2**27), (5242880, 2**63 - 2**20, 2**20)),
        (Number(-1, 1048576, signed=True, default=-1), (-1, 1048576, None)),
        (Number(-(2**63), 2**63 - 1, signed=True, default=-1), (-(2**63), 2**63 - 1, None)),
        (Number(512, 16384, 512, default=1024), (512, 16384, 512)),
        (Number(0, 65535, chosen=80, default=80), (0, 65535, None)),
        (Number(1, 100000, cut=19190, default=151), (1, 100000, None)),
        (Number(0, 2, default=0), (0, 2, None)),
    ],
)
def test_range_and_block_come_of_asking_too_little_too_much_and_all_ones(option, expected):
    result = Server(some_number=option).probed()["some_number"]
    assert result.kind is Kind.INTEGER
    assert bounds(result) == expected


@given(
    low=st.integers(0, 2**20),
    width=st.integers(1, 2**40),
    power=st.integers(0, 20),
    signed=st.booleans(),
)
def test_any_range_is_found_and_no_block_is_invented(low, width, power, signed):
    block = 2**power
    low -= low % block
    high = (low + width) - (low + width) % block
    option = Number(low, max(high, low + block), block, signed=signed, default=low + block)
    result = Server(some_number=option).probed()["some_number"]
    assert (result.minimum, result.maximum) == (option.low, option.high)
    assert result.block in (None, block if block > 1 else None)


def test_the_largest_number_of_all_is_not_asked_of_what_has_a_limit():
    server = Server(limited=Number(1, 64, default=1), endless=Number(1, MOST, default=1))
    server.probed()
    assert not any(asked.get("limited") == MOST for asked in server.asked)


def test_variables_that_a_table_reported_are_not_asked_again_but_for_blocks():
    server = Server(read_buffer_size=Number(8192, 2147479552, 4096, default=131072))
    reported = Variable("read_buffer_size", Kind.INTEGER, 8192, 2147483647, default="131072")
    assert bounds(server.probed(read_buffer_size=reported)["read_buffer_size"]) == (8192, 2147479552, 4096)
    assert all(8192 <= value <= 2**24 for asked in server.asked for value in asked.values())


def test_mariadbs_table_needs_no_probing():
    server = Server(lower_case_table_names=Number(0, 2, default=0))
    reported = Variable("lower_case_table_names", Kind.INTEGER, 0, 2, default="0", dynamic=False)
    assert server.probed(lower_case_table_names=reported)["lower_case_table_names"] == reported
    assert server.asked == [{}]


def test_variables_that_move_one_another_are_asked_apart():
    server = Server(
        innodb_io_capacity=Number(100, default=200),
        innodb_io_capacity_max=Number(100, default=2000),
        slave_net_timeout=Number(1, 9, default=5),
        replica_net_timeout=Number(1, 9, default=5),
    )
    server.probed()
    assert not any({"innodb_io_capacity", "innodb_io_capacity_max"} <= asked.keys() for asked in server.asked)
    assert not any({"slave_net_timeout", "replica_net_timeout"} <= asked.keys() for asked in server.asked)


def test_an_option_that_a_server_does_not_survive_leaves_the_others_reported():
    names = [f"number_{index}" for index in range(20)]
    server = Server(deadly=["number_7"], **{name: Number(3, 99, default=3) for name in names})
    result = server.probed()
    assert [bounds(result[name])[:2] for name in names if name != "number_7"] == [(3, 99)] * 19
    assert bounds(result["number_7"]) == (None, None, None)


def test_one_refused_option_of_innodb_does_not_pass_for_the_defaults_of_the_others():
    server = Server(
        innodb_default_row_format=Words(("redundant", "compact", "dynamic"), default=2),
        innodb_flush_method=Words(("fsync", "O_DSYNC", "littlesync", "nosync", "O_DIRECT", "O_DIRECT_NO_FSYNC"), default=4),
    )
    assert len(server.probed()["innodb_flush_method"].choices) == 6


def test_enumerations_and_sets_report_their_words_by_number():
    server = Server(
        binlog_format=Words(("MIXED", "STATEMENT", "ROW"), default=1),
        log_output=Flags(("NONE", "FILE", "TABLE"), default=2),
        myisam_recover_options=Flags(("DEFAULT", "BACKUP", "FORCE", "QUICK"), nothing="OFF"),
        init_connect=Text(),
        default_storage_engine=Text("InnoDB"),
    )
    result = server.probed()
    assert (result["binlog_format"].kind, result["binlog_format"].choices) == (Kind.ENUMERATION, ("MIXED", "STATEMENT", "ROW"))
    assert (result["log_output"].kind, result["log_output"].choices) == (Kind.SET, ("NONE", "FILE", "TABLE"))
    assert result["myisam_recover_options"].kind is Kind.SET
    assert result["myisam_recover_options"].choices == ("OFF", "DEFAULT", "BACKUP", "FORCE", "QUICK")
    assert result["default_storage_engine"].kind is Kind.STRING
    assert result["init_connect"].kind is Kind.STRING


def test_words_that_stand_for_several_are_reported_by_their_own_name():
    class Modes(Flags):
        def take(self, value):
            printed, limit = super().take(value)
            return printed.replace("ANSI", "PIPES_AS_CONCAT,ANSI_QUOTES,ANSI") if printed == "ANSI" else printed, limit

    result = Server(sql_mode=Modes(("PIPES_AS_CONCAT", "ANSI_QUOTES", ",", "NOT_USED_9", "ANSI"))).probed()["sql_mode"]
    assert result.choices == ("PIPES_AS_CONCAT", "ANSI_QUOTES", "ANSI")


def test_a_list_of_switches_is_a_set():
    result = Server(optimizer_switch=Text("index_merge=on,mrr=off")).probed()["optimizer_switch"]
    assert (result.kind, result.choices) == (Kind.SET, ("index_merge", "mrr"))


def test_switches_are_booleans_and_names_of_files_are_text():
    server = Server(slow_query_log=Text("OFF", takes=""), log_bin=Text("OFF", takes="[=name]"), datadir=Text("/var/lib/mysql/"))
    result = server.probed()
    assert result["slow_query_log"].kind is Kind.BOOLEAN
    assert result["log_bin"].kind is Kind.UNKNOWN, "before 8.0 it takes the name of a file"
    assert result["datadir"].kind is Kind.STRING


def test_a_variable_without_an_option_cannot_be_given_at_the_start():
    server = Server(read_only=Text("OFF", takes=""), name_resolve=Text("OFF", takes=""), default_time_zone=Text("SYSTEM"))
    reported = {name: Variable(name, Kind.UNKNOWN, default="OFF") for name in ("hostname", "skip_name_resolve", "time_zone")}
    result = server.probed(**reported)
    assert not result["hostname"].at_start
    assert result["read_only"].at_start
    assert result["skip_name_resolve"].at_start
    assert result["time_zone"].at_start


class Lost:
    """A server that does not answer in time when it is asked for some value of some option."""

    def __init__(self, server, option, value):
        self.server, self.option, self.value = server, option, value

    def __call__(self, asked):
        if asked.get(self.option) == self.value:
            return Reply(complete=False, answered=False)
        return self.server(asked)


FORMATS = ("MIXED", "STATEMENT", "ROW")
LIMITED = Number(-1, 1048576, signed=True, default=0)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        (Words(FORMATS), 0),
        (Words(FORMATS), 2),
        (Words(FORMATS), 3),
        (Flags(FORMATS, default=1), 2),
        (Flags(FORMATS, default=1), 4),
    ],
)
def test_words_of_which_an_answer_is_missing_are_not_reported(option, value):
    server = Server(some_words=option, read_buffer_size=Number(8192, 2147479552, 4096, default=131072))
    assert server.probed()["some_words"].choices == FORMATS
    result = option_probing.completed(server.catalogue(), Lost(server, "some_words", value))
    assert not result.complete
    assert result.variables["some_words"].choices == ()
    assert bounds(result.variables["read_buffer_size"]) == (8192, 2147479552, 4096), "what was answered is told"


@pytest.mark.parametrize("value", [0, -1, -(2**63), 2**63 - 1])
def test_a_range_of_which_an_answer_is_missing_is_not_reported(value):
    server = Server(some_number=LIMITED)
    result = option_probing.completed(server.catalogue(), Lost(server, "some_number", value))
    assert not result.complete
    assert bounds(result.variables["some_number"]) == (None, None, None)


def test_a_refusal_or_a_crash_is_an_answer():
    server = Server(deadly=["fatal"], fatal=Number(1, 9, default=1), some_words=Words(FORMATS), some_number=LIMITED)
    assert option_probing.completed(server.catalogue(), server).complete


@pytest.mark.parametrize("answered", [True, False])
def test_a_help_mode_that_never_answered_is_asked_again_and_one_that_crashed_is_not(answered):
    catalogue = Server(some_number=LIMITED).catalogue()
    result = option_probing.completed(catalogue, lambda asked: Reply(complete=False, answered=answered))
    assert result.complete is answered
    assert result.variables == catalogue.variables


def test_text_that_a_number_is_a_word_of_is_no_set_that_refuses_its_own_default():
    """protocol_compression_algorithms prints zlib for 0 on 8.0.33 and 9.7.4, and nothing else."""

    class Algorithms(Text):
        def take(self, value):
            if value > 1:
                raise RefusedError
            return ("zlib", "")[value], None

    class First(Words):
        def take(self, value):
            return super().take(value) if value else ("zlib", None)

    for option in (First(("zlib", "snappy")), Algorithms("zlib,zstd,uncompressed")):
        server = Server(protocol_compression_algorithms=option)
        reported = Variable("protocol_compression_algorithms", Kind.SET, default="zlib,zstd,uncompressed")
        result = server.probed(protocol_compression_algorithms=reported)["protocol_compression_algorithms"]
        assert result.choices == ()


def test_a_help_mode_that_crashes_reports_nothing_and_harms_nothing():
    """10.1.8 does."""
    catalogue = Server(read_buffer_size=Number(8192, 2**31, 4096, default=131072)).catalogue()
    assert option_probing.completed(catalogue, lambda asked: Reply(complete=False)) == catalogue
