"""Servers whose settings only a command applies: on another loopback address, with an option file of their own, no SUPER."""

import re
import shlex
import socket
import subprocess
from contextlib import contextmanager
from pathlib import Path

from dialin.paths import Home
from live import until
from playground import PASSWORD, command_that_restarts, playground

EXAMPLES = Path(__file__).parent.parent / "examples" / "apply"
ADDRESS = "127.0.0.2"


class Managed:
    """A server with the option file that a command writes, and the command that restarts it."""

    def __init__(self, server, directory):
        self.server, self.directory = server, directory
        with socket.socket() as probe:
            probe.bind((ADDRESS, 0))
            self.port = probe.getsockname()[1]
        self.file, self.account = server.directory / "more.cnf", directory / "account.cnf"
        self.restart = command_that_restarts(server, directory)
        options = server.directory / "my.cnf"
        text = re.sub(r"^(skip_networking|port|bind_address).*\n", "", options.read_text(), flags=re.MULTILINE)
        self.file.write_text("# written by hand\n[mysqld]\nmax_allowed_packet = 32M\n")
        options.write_text(f"{text}port = {self.port}\nbind_address = {ADDRESS}\n!include {self.file}\n")
        password = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
        server.query(
            f"CREATE USER 'managed'@'127.0.0.1' IDENTIFIED BY '{password}'",
            "GRANT PROCESS ON *.* TO 'managed'@'127.0.0.1'",
            "GRANT ALL ON dialin_sbtest.* TO 'managed'@'127.0.0.1'",
        )
        quoted = PASSWORD.replace("\\", "\\\\")
        address = f"host = {ADDRESS}\nport = {self.port}\nget-server-public-key = ON\n"
        self.account.write_text(f'[client]\nuser = managed\npassword = "{quoted}"\n{address}')
        self.account.chmod(0o600)
        self.start_again()

    def start_again(self):
        """Restart the server by hand, and wait until it answers."""
        subprocess.run(shlex.split(self.restart), check=True)
        until(self.answers)

    def answers(self):
        with socket.socket() as client:
            return client.connect_ex((ADDRESS, self.port)) == 0

    def words(self, command=None):
        """The words of a study whose settings a command applies; by default the ready one."""
        command = command or shlex.join([str(EXAMPLES / "option-file.sh"), str(self.file), self.restart])
        return ["--attach", "--defaults-file", self.account, "--apply-command", command]

    def script(self, name, body):
        """A command of a few lines of shell, which knows the option file, and how the server is restarted."""
        script = self.directory / f"{name}.sh"
        script.write_text(f"set -eu\nfile={self.file}\ndirectory=$1\nrestart() {{ {self.restart}; }}\n{body}\n")
        return f"sh {script}"

    def state(self):
        """What a study must leave as it was."""
        return self.server.variables(), self.file.read_text(), self.server.schemas()


@contextmanager
def managed(build, directory):
    home, ours = Home(directory / "home"), Home.of()
    home.root.mkdir()
    for path in (ours.builds, ours.config):
        (home.root / path.name).symlink_to(path)
    with playground(build, home=home) as server:
        yield Managed(server, directory)
