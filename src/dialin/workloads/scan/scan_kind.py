"""The kind of workload that times a query over a large table: how a study asks for it."""

from __future__ import annotations

from dialin.errors import InapplicableError, UserError
from dialin.model.option_types import kebab
from dialin.model.workload import WorkloadSpec
from dialin.workloads.base import Workload
from dialin.workloads.kind import LoadRequest, WorkloadKind
from dialin.workloads.scan import table
from dialin.workloads.scan.scan_options import DEFAULT_SIZE, SCAN, ScanOptions


def _specify(request: LoadRequest) -> WorkloadSpec:
    """Return the load of a study; the option `size` sizes the table, unless its rows are given."""
    for option in request.by_second:
        how = "Give the number of runs of a trial: --workload-option runs=3"
        raise InapplicableError(f"--{option} is not for the workload scan", how, (option,))
    for option, is_given in (
        ("tables", (request.tables or 1) > 1),
        ("rate", request.given.get("rate")),
        ("rand-type", request.given.get("rand_type")),
    ):
        if is_given:
            what = f"--{option} is not for the workload scan, which reads one table"
            raise InapplicableError(what, "Leave it out; see docs/scan.md", (option,))
    options = request.options_spelled(kebab)
    if "size" in options and request.table_size is not None:
        raise UserError("--table-size and the workload's option size both set the size of the table", "Give one of them")
    if request.table_size is not None:
        return request.spec(SCAN, options, threads=1, tables=1)
    options = {"size": DEFAULT_SIZE, **options}
    return request.spec(SCAN, options, threads=1, tables=1, table_size=table.rows_asked(options))


def _make(spec: WorkloadSpec) -> Workload:
    from dialin.workloads.scan.scan import Scan  # --help needs no driver

    return Scan(spec)


KIND = WorkloadKind(
    name=SCAN,
    help="scan, a timed query over a large table",
    make=_make,
    options=ScanOptions,
    options_help="engine, size, query, cache (docs/scan.md)",
    threads=1,
    defaults={"threads": "1", "tables": "1", "table_size": "512 MiB"},
    specify=_specify,
)
