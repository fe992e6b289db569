"""Proposers keep what every proposer promises."""

import pytest

from dialin.model.study import Candidate, StudySpec
from dialin.model.workload import WorkloadSpec
from dialin.search.proposer import Contenders
from dialin.testing.proposer_conformance import ProposerConformance


class TestContenders(ProposerConformance):
    def make_proposer(self):
        return Contenders()


class TestContendersOfMany(ProposerConformance):
    blocks = 12

    def make_proposer(self):
        return Contenders()

    def make_spec(self):
        values = (200, 400, 800, 1600, 3200)
        candidates = tuple(Candidate(name=str(n), setting={"innodb_io_capacity": n}, server="mysql@9.7") for n in values)
        return StudySpec(candidates=candidates, baseline="200", workload=WorkloadSpec(kind="sysbench"))


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
