"""The soft limit of open files is raised, and only a limit that nobody but the administrator can raise is refused."""

import resource

import pytest

from dialin.errors import UserError
from dialin.servers import process_limits

UNLIMITED = resource.RLIM_INFINITY


@pytest.fixture
def limited(monkeypatch):
    """Lets this process have a soft and a hard limit of open files; returns the soft limits that were set."""
    raised = []

    def limit(soft, hard):
        limits = {resource.RLIMIT_NOFILE: (soft, hard)}
        monkeypatch.setattr(process_limits.resource, "getrlimit", lambda one: limits.get(one, (UNLIMITED, UNLIMITED)))
        monkeypatch.setattr(process_limits.resource, "setrlimit", lambda _, both: raised.append(both))
        return raised

    return limit


@pytest.mark.parametrize(
    ("soft", "hard", "raised"),
    [
        (128, 4096, [(4096, 4096)]),
        (1024, 1_048_576, [(65_536, 1_048_576)]),
        (1024, UNLIMITED, [(65_536, UNLIMITED)]),
        (1_048_576, 1_048_576, []),
        (UNLIMITED, UNLIMITED, []),
        (256, 256, []),
    ],
)
def test_the_soft_limit_of_open_files_is_raised_as_far_as_needed(limited, soft, hard, raised):
    changes = limited(soft, hard)
    process_limits.check()
    assert changes == raised


@pytest.mark.parametrize("soft", [100, 200])
def test_a_hard_limit_that_is_too_low_is_named_with_what_raises_it(limited, soft):
    limited(soft, 200)
    with pytest.raises(UserError, match=r"ulimit -Hn limits the number of open files to 200.*LimitNOFILE"):
        process_limits.check()
