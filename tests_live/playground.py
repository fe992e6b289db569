"""Servers to be attached to: started by `dialin servers start`, with exactly the account that the documents name."""

import os
import re
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pymysql

from dialin.clock import SystemClock
from dialin.paths import Home
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.server import Attached
from dialin.servers.ledger import Ledger
from dialin.variables import rules
from live import EASY
from warm_start import START

DOCUMENT = Path(__file__).parent.parent / "docs" / "privileges.md"
_RESTART = """
import os, signal, subprocess, sys, time
from pathlib import Path
directory = Path(sys.argv[1])
pid = int((directory / "server.pid").read_text())
try:
    shown = Path(f"/proc/{pid}/cmdline").read_bytes()
    inherited = Path(f"/proc/{pid}/environ").read_bytes()
except OSError:
    shown = b""
kept = directory / "words"
if shown:
    kept.write_bytes(shown)
    (directory / "environ").write_bytes(inherited)
else:
    pid = None  # it is gone, or a zombie
words = [word for word in kept.read_bytes().split(b"\\0")[:-1] if b"persisted" not in word]
words += [word.encode() for word in sys.argv[2:]]
environment = dict(part.split(b"=", 1) for part in (directory / "environ").read_bytes().split(b"\\0") if b"=" in part)
options = directory / "my.cnf"
options.write_text("".join(line for line in options.read_text().splitlines(True) if "init_file" not in line))
if pid:
    os.kill(pid, signal.SIGTERM)
while pid and Path(f"/proc/{pid}/stat").exists() and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
    time.sleep(0.05)
with open(os.devnull, "wb") as nothing:
    process = subprocess.Popen(words, env=environment, cwd=directory, start_new_session=True, stdin=subprocess.DEVNULL)
(directory / "server.pid").write_text(str(process.pid))
"""
"""Restarts a server as it was started, without what only its first start needed."""

SCHEMA = "dialin_sbtest"
"""The schema that a study makes for its load, and drops."""

PASSWORD = "s3cret, #'no\\one= sees"


LEAVES_CHANGED = """
import sys, time
from pathlib import Path
from dialin.clock import SystemClock
from dialin.model.place import Attachment
from dialin.servers.attached.server import Attached
from dialin.servers.attached.client_options import find_account
from dialin.servers.attached.undo import SCHEMA, UndoLog
directory, options = sys.argv[1:]
attachment = Attachment(defaults_file=options)
attached = Attached(find_account(Path(options), None, {}), SystemClock())
log = UndoLog(Path(directory))
entry = log.begin(attached, attachment, ["max_connections", "innodb_io_capacity"], schema=SCHEMA)
log.make_schema(entry, attached)
attached.set_global({"max_connections": 66, "innodb_io_capacity": 1600})
print("changed", flush=True)
time.sleep(600)
"""
"""Changes a server, and waits to be killed."""


def family(build):
    """The heading of a build's privileges in the documents."""
    if build.family == "mysql":
        return "MySQL 8.0 and later" if build.version >= (8,) else "MySQL 5.5 to 5.7"
    return "MariaDB 11.0 and later" if build.version >= (11,) else "MariaDB up to 10.11"


def statements(build, purpose="study"):
    """The statements of the page of privileges for a build and a purpose (study, live or capture), as they stand there."""
    sections = re.split(r"^##+ ", DOCUMENT.read_text(), flags=re.MULTILINE)
    section = next(each for each in sections if family(build) in each.partition("\n")[0])
    lines = [line for block in re.findall(r"```sql\n(.*?)```", section, re.DOTALL) for line in block.splitlines()]
    parts = [line.partition("--") for line in lines]
    found = [text.strip() for text, _, needed_for in parts if not needed_for or purpose in needed_for.partition(":")[0]]
    assert 3 <= len(found) < len(lines)
    return found


class Playground:
    """A server of its own, with root's account and the one of the documents."""

    def __init__(self, build, entry):
        self.build, self.entry, self.directory = build, entry, Path(entry.directory)
        self.root = self.directory / "client.cnf"

    def connect(self, user=None):
        if user is None:
            return pymysql.connect(read_default_file=str(self.root), autocommit=True)
        return pymysql.connect(unix_socket=self.entry.socket, user=user, password=PASSWORD, autocommit=True)

    def query(self, *all_of_them):
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                for statement in all_of_them:
                    cursor.execute(statement)
                return cursor.fetchall()
        finally:
            connection.close()

    def schemas(self):
        return {name for (name,) in self.query("SHOW DATABASES")}

    def variables(self):
        return {name: value for name, value in self.query("SHOW GLOBAL VARIABLES") if not rules.identifies_instance(name)}


@contextmanager
def playground(build, purpose="study", *words, home=None):
    """A server of a build, with the account that a purpose needs; `words` are more of `dialin servers start`.

    With a home of its own the server is nobody's: no dialin tidies its directory away while a restart has it down.
    """
    home = home or Home.of()
    command = [sys.executable, "-m", "dialin", "servers", "start", build.id, *words]
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with START(command, env={**os.environ, "DIALIN_HOME": str(home.root)}, **streams) as starting:
        _, err = starting.communicate()
    assert starting.returncode == 0, err
    name = re.search(r"dialin servers stop (\w+)", err)[1]
    ledger = Ledger(home.ledger)
    entry = next(entry for entry in ledger.entries() if entry.id == name)
    try:
        made = Playground(build, entry)
        password = PASSWORD.replace("\\", "\\\\").replace("'", "\\'")
        made.query(*(line.replace("a password", password) for line in statements(build, purpose)))
        yield made
    finally:
        ledger.end(entry)


def option_file(server, path, **more):
    quoted = PASSWORD.replace("\\", "\\\\")
    options = {"user": "dialin", "password": f'"{quoted}"', "socket": server.entry.socket, **more}
    path.write_text("[client]\n" + "".join(f"{name} = {value}\n" for name, value in options.items() if value))
    path.chmod(0o600)
    return path


LOAD = ("--tables", "2", "--table-size", "5000", "--threads", "4", *EASY)


def attached_sweep(server, directory, load=LOAD):
    """The words of a study of a minute on a playground, which asks before it begins."""
    account = ["--attach", "--defaults-file", option_file(server, directory / "account.cnf")]
    sweep = ["sweep", "innodb_io_capacity=300,3000", "--baseline", "300", "--minutes", "1", "--worthwhile", "100%"]
    return [*sweep, *account, *load, "--measure", "2", "--warmup", "1"]


def attach(attachment):
    return Attached(find_account(Path(attachment.defaults_file), None, {}), SystemClock())


def command_that_restarts(server, directory):
    """A --restart-command for a playground."""
    script = directory / "restart.py"
    script.write_text(_RESTART)
    return f"{sys.executable} {script} '{server.directory}'"
