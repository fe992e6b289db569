"""Sentences of a suite."""

import pytest

from dialin.model.suite import Gate, GateState, Margin
from dialin.model.verdict import CandidateState
from fixtures import example_suites


@pytest.mark.parametrize(("margin", "says"), [(Margin.OPEN, "a (not measured)"), (Margin.FAILED, "a (server failed)")])
def test_a_server_is_said_to_have_failed_only_if_it_did(margin, says):
    row = example_suites.row("a", **{"2": 1.0})
    cell = row.cells[0].model_copy(update={"ratio": None, "state": CandidateState.NO_CLAIM, "margin": margin})
    gate = Gate(margin=0.03, state=GateState.OPEN, worse=[], open=[("a", "2")], minutes_needed=None)
    assert says in example_suites.suite([row.model_copy(update={"cells": [cell]})], gate=gate).headline
