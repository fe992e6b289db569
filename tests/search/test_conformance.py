"""Proposers keep what every proposer promises."""

import pytest

from dialin.model.study import Candidate
from dialin.search.proposer import FixedList
from dialin.testing.proposer_conformance import ProposerConformance
from fixtures.proposers import AddsOne


class TestFixedList(ProposerConformance):
    def make_proposer(self):
        return FixedList()


class TestAddsOne(ProposerConformance):
    def make_proposer(self):
        return AddsOne(Candidate(name="new", setting={"innodb_io_capacity": 800}, server="mysql@9.7"), 3)


class Forgets:
    """Names a candidate by how often it was asked, which a study that was resumed cannot repeat."""

    def __init__(self):
        self.asked = 0

    def propose(self, history, room):
        self.asked += 1
        new = Candidate(name=str(self.asked), setting={"read_buffer_size": self.asked}, server="mysql@9.7")
        return (*history.spec.candidates, new, new)


@pytest.mark.parametrize("test", [name for name in vars(ProposerConformance) if name.startswith("test_")])
def test_the_suite_fails_a_proposer_that_breaks_its_promises(test):
    class Suite(ProposerConformance):
        def make_proposer(self):
            return Forgets()

    with pytest.raises(AssertionError):
        getattr(Suite(), test)()
