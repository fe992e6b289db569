"""The files that interrupted or killed trials leave in a study's directory."""

from __future__ import annotations

from contextlib import suppress

from dialin.model.trial import TrialState
from dialin.store import series
from dialin.store.store import Store

_HALF_MADE = ("trial-*.making", "trial-*.part[0-9]*")


def remove_unfinished_files(store: Store) -> None:
    """Remove unfinished files, and those of interrupted trials, which are run again.

    A file that cannot be removed is left. Only the process that runs the study may call this.
    """
    interrupted = {series.file_name(trial.id) for trial in store.trials() if trial.state is TrialState.INTERRUPTED}
    for directory in (store.directory_of_series, store.directory_of_waits, store.directory_of_profiles):
        half_made = [path for pattern in _HALF_MADE for path in directory.glob(pattern)]
        for path in (*half_made, *(directory / name for name in interrupted)):
            with suppress(OSError):
                path.unlink(missing_ok=True)
