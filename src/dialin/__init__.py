"""dialin finds the right value of a MySQL or MariaDB server variable for your workload on your hardware, and proves it.

From a notebook: `study = dialin.open_study("DIR")` gives what a study measured as polars frames; see `docs/notebook.md`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os

    from dialin.frames.study_frames import Study

__version__ = "0.1.0"
__all__ = ["__version__", "open_study"]


def open_study(directory: str | os.PathLike[str]) -> Study:
    """Open a study to read what it measured. The study is not changed, and it may be running.

    Args:
        directory: the directory of the study (its `--out`).

    Returns:
        The study, as polars frames.

    Raises:
        UserError: the directory holds no study, or a damaged one.

    Example:
        >>> import dialin
        >>> study = dialin.open_study("./pool-instances")  # doctest: +SKIP
        >>> study.verdict.select("candidate", "tps", "ratio", "ratio_low", "ratio_high")  # doctest: +SKIP
    """
    from pathlib import Path

    from dialin.frames.study_frames import Study

    return Study(Path(directory))
