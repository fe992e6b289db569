"""The kind of workload that is a live server's own traffic: how a study asks for it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from dialin.errors import UserError
from dialin.model.workload import MEAN, LoadOptions, WorkloadSpec
from dialin.workloads.base import Workload
from dialin.workloads.kind import LoadRequest, WorkloadKind

TRAFFIC = "traffic"


class NoOptions(BaseModel):
    """The server's own traffic has no options."""

    model_config = ConfigDict(extra="forbid", frozen=True)


def _specify(request: LoadRequest) -> WorkloadSpec:
    for name, value in request.given.items():
        if value and (name, value) != ("percentile", LoadOptions.model_fields["percentile"].default):
            raise UserError(
                f"--{name.replace('_', '-')} is for a load that dialin applies; --traffic own applies none", "Leave it out"
            )
    for name in request.options:
        raise UserError(
            f"--workload-option {name} is for a load that dialin applies; --traffic own applies none", "Leave it out"
        )
    return WorkloadSpec(name=TRAFFIC, kind=TRAFFIC, asked=TRAFFIC, threads=1, percentile=MEAN)


def _make(spec: WorkloadSpec) -> Workload:
    from dialin.workloads.traffic.traffic import Traffic  # --help needs no driver

    return Traffic(spec)


KIND = WorkloadKind(
    name=TRAFFIC,
    help="traffic, given as --attach --traffic own",
    make=_make,
    options=NoOptions,
    threads=1,
    specify=_specify,
)
