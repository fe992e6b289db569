"""Commands of the user, run for real."""

import tracemalloc

import pytest

from dialin.servers.attached import user_command
from dialin.servers.attached.user_command import CommandError


def test_of_a_command_that_prints_without_end_only_the_end_is_held():
    tracemalloc.start()
    try:
        with pytest.raises(CommandError) as failed:
            user_command.run("sh -c 'yes nothing | head -c 50000000; echo; echo the end; exit 3'")
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()
    assert failed.value.log_tail.endswith("\nthe end")
    assert failed.value.log_tail.count("\n") < 30
