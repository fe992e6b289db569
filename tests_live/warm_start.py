"""dialin started as a copy of a process that has imported it already: a fifth of the CPU of a test run was imports.

The copy is a process of its own, a child of the test like any other, with the words, the directory, the environment and the
streams of its own. `make test-all` starts every command anew, as all other tests of the command line do.
"""

import ctypes
import gc
import json
import os
import platform
import signal
import socket
import subprocess
import sys
from functools import cache
from importlib import import_module
from pathlib import Path

MODULES = (
    "dialin.cli.conduct",
    "dialin.cli.restore",
    "dialin.cli.studies",
    "dialin.evidence.why_verdict",
    "dialin.fleet.fleet_choice",
    "dialin.fleet.local_worker",
    "dialin.places.check_study",
    "dialin.report.files",
    "dialin.report.render.terminal",
    "dialin.workloads.dialin_load",
    "dialin.workloads.sysbench",
    "scipy.ndimage",
    "scipy.optimize",
    "tsdownsample",
    "typer.rich_utils",
)
"""What a study imports sooner or later, but for libraries that start threads."""

_CLONE = {"x86_64": 56, "aarch64": 220}
"""The numbers of the system call; glibc has no function for a child of one's parent."""
_CLONE_PARENT = 0x8000
_LONGEST = 1 << 17
"""Bytes of a request: words and environment."""

_POSSIBLE = sys.platform == "linux" and platform.machine() in _CLONE


class Warm(subprocess.Popen):
    """`python -m dialin WORDS`; the arguments are those of Popen."""

    def _execute_child(self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, *more):
        assert args[:3] == [sys.executable, "-m", "dialin"]
        ends = more[3:9]  # after startupinfo, creationflags and shell: both ends of the three streams
        environment = dict(os.environ if env is None else env)
        request = {"words": args[3:], "directory": str(cwd or Path.cwd()), "environment": environment}
        try:
            self.pid = _ask(json.dumps(request).encode(), [ends[0], ends[3], ends[5]])
            self._child_created = True
        finally:
            self._close_pipe_fds(*ends)


START = Warm if _POSSIBLE and "DIALIN_TEST_ALL" not in os.environ else subprocess.Popen
"""How `make test` starts a command whose three streams are given."""


@cache
def _imported():
    """The process that has imported dialin, which ends with this one, and the socket to it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    nothing = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    process = subprocess.Popen([sys.executable, "-P", __file__, str(its.fileno())], pass_fds=[its.fileno()], **nothing)
    its.close()
    return process, ours


def _ask(request, descriptors):
    _, ours = _imported()
    socket.send_fds(ours, [request], descriptors)
    return int(ours.recv(32))


def _copied(number):
    """Fork into a child of the parent of this process; 0 in the child."""
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = ctypes.PyDLL(None).syscall(number, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
    if pid:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    return pid


def _compile_templates():
    """Compile what a report is made of, which every command that writes one would do anew."""
    from dialin.report.render.markup import _environment

    templates = _environment()
    for name in templates.list_templates(extensions=["j2"]):
        templates.get_template(name)


def serve(asked):
    """Make a copy for each request; returns in the copies, each with what its request says."""
    gc.disable()
    for name in MODULES:
        import_module(name)
    _compile_templates()
    gc.freeze()
    gc.enable()
    while True:
        request, descriptors, _, _ = socket.recv_fds(asked, _LONGEST, 3)
        if not request:
            sys.exit()
        if pid := _copied(_CLONE[platform.machine()]):
            for descriptor in descriptors:
                os.close(descriptor)
            asked.send(str(pid).encode())
            continue
        asked.close()
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
            os.close(descriptor)
        given = json.loads(request)
        os.chdir(given["directory"])
        os.environ.clear()
        os.environ.update(given["environment"])
        sys.argv = ["dialin", *given["words"]]
        return


if __name__ == "__main__":
    serve(socket.socket(fileno=int(sys.argv[1])))
    from dialin.cli.app import main

    main()
