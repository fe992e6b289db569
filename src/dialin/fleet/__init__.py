"""Runs the blocks of a study: workers on one or several hosts."""

import os

# Ray prints its log lines about a dead node to standard output, where dialin's JSON may go; dialin itself reports lost hosts.
# Ray reads this variable when it is imported. Its option `log_to_driver` does not cover these lines.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
