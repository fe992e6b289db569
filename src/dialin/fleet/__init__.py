"""What runs the blocks of a study: a worker on a host."""

import os

# Ray prints what it logs of a node that has died on standard output, where dialin's JSON may go; dialin itself reports lost
# hosts. Ray reads this when it is imported, and its other switch for that (`log_to_driver`) does not cover it.
os.environ.setdefault("RAY_DEDUP_LOGS_SKIP_REGEX", ".")
