import signal

import pytest

from dialin.dashboard.stop import stop_now
from dialin.store.lock import Holder

HOLDER = Holder(4711, "boot/42")


def test_the_process_that_wrote_itself_down_is_told_to_stop_in_its_own_order():
    sent = []
    assert stop_now(HOLDER, lambda _: "boot/42", lambda *told: sent.append(told))
    assert sent == [(4711, signal.SIGTERM)]


@pytest.mark.parametrize("now", ["", "boot/43"])
def test_another_process_of_the_same_number_is_left_alone(now):
    assert not stop_now(HOLDER, lambda _: now, lambda *_: pytest.fail("it was told"))


def test_a_process_that_did_not_say_who_it_is_is_left_alone():
    assert not stop_now(Holder(4711), lambda _: "", lambda *_: pytest.fail("it was told"))


@pytest.mark.parametrize("error", [ProcessLookupError, PermissionError])
def test_a_process_that_is_gone_or_another_users_cannot_be_told(error):
    def refuse(_pid, _signal):
        raise error

    assert not stop_now(HOLDER, lambda _: "boot/42", refuse)
