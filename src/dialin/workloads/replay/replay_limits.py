"""How far a replay may differ from the capture and still count as the captured load."""

from dialin.model.workload import LoadLimit

LIMITS = (
    LoadLimit(gauge="replay_not_captured", most=0.05, code="replay_not_captured"),
    LoadLimit(gauge="replay_left_out", most=0.01, code="replay_left_out"),
    LoadLimit(gauge="replay_new_errors", most=0.001, code="replay_new_errors"),
    LoadLimit(gauge="replay_missing_errors", most=0.001, code="replay_missing_errors"),
    LoadLimit(gauge="replay_other_rows", most=0.01, code="replay_other_rows"),
    LoadLimit(gauge="replay_other_changes", most=0.01, code="replay_other_changes"),
    LoadLimit(gauge="replay_out_of_order", most=0.05, code="replay_out_of_order"),
    LoadLimit(gauge="replay_rows_returned", most=0.02, code="replay_rows_returned", is_equal=True),
    LoadLimit(gauge="replay_rows_changed", most=0.02, code="replay_rows_changed", is_equal=True),
    LoadLimit(gauge="replay_late", most=0.05, code="replay_late"),
    LoadLimit(gauge="replay_waiting", most=0.5, code="replay_waiting"),
    LoadLimit(gauge="replay_time_elsewhere", most=0.5, code="replay_time_elsewhere"),
    LoadLimit(gauge="replay_prepared_again", most=0.01, code="replay_prepared_again"),
    LoadLimit(gauge="replay_rows_examined", most=0.2, code="replay_rows_examined", is_ratio=True),
    LoadLimit(gauge="replay_page_misses", most=0.5, code="replay_page_misses", is_ratio=True),
    LoadLimit(gauge="replay_lock_waits", most=0.5, code="replay_lock_waits", is_ratio=True),
    LoadLimit(gauge="replay_disk_tables", most=0.5, code="replay_disk_tables", is_ratio=True),
    LoadLimit(gauge="replay_threads_running", most=0.5, code="replay_threads_running", is_ratio=True),
)
"""Limits of the figures of a replay; see `replay_run.ReplayRun.facts`. What the load did comes first, then when, then how the
server did it."""
