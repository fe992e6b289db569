"""The conformance tests of workloads: the test class of a plug-in inherits them."""

from __future__ import annotations

import json

from dialin.model.workload import LoadTraits
from dialin.workloads.base import Workload


class WorkloadConformance:
    """Tests of a workload without a server.

    A subclass whose name begins with `Test` returns from `make_workload` one that is ready to be used.
    """

    def make_workload(self) -> Workload:
        """Return a workload; a new object at each call, always of the same options."""
        raise NotImplementedError

    def test_its_facts_can_be_stored_and_do_not_change(self) -> None:
        """A dataset is looked up by its facts: they must be the same for the same options, and fit JSON."""
        first, second = (json.dumps(self.make_workload().data_facts(), sort_keys=True) for _ in range(2))
        assert first == second
        assert first != "{}"

    def test_its_data_has_a_size_and_a_description(self) -> None:
        """The size is compared with the free disk space before anything is prepared."""
        workload = self.make_workload()
        assert workload.expected_bytes() >= 0
        assert workload.temporary_bytes() >= 0
        assert workload.describe_data().strip() == workload.describe_data() != ""

    def test_its_traits_can_be_stored(self) -> None:
        """A resumed study goes by the traits that it began with."""
        traits = self.make_workload().traits
        assert LoadTraits.model_validate_json(traits.model_dump_json()) == traits

    def test_its_runs_can_be_measured(self) -> None:
        """A timed query measures at least one run, and no fewer than it must."""
        runs = self.make_workload().traits.runs
        assert runs is None or (runs.warm_up >= 0 and 1 <= runs.measured <= runs.most and runs.seconds > 0)

    def test_its_driver_has_a_name_and_time_to_report(self) -> None:
        """The driver's version is stored with the study, and silence longer than its patience is a hang."""
        workload = self.make_workload()
        assert workload.version().strip()
        assert workload.patience > 0

    def test_its_own_file_is_known_by_its_text(self) -> None:
        """A load is identified by the digest of its file's text, which must be the same for the same options."""
        assert self.make_workload().digest() == self.make_workload().digest()
