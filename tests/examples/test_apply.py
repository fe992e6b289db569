"""The ready commands that apply settings, against stubs of the programs that they call, which record their calls."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from dialin.servers.attached.apply_command import write_request

EXAMPLES = Path(__file__).parents[2] / "examples" / "apply"
NAME, OTHER = "innodb_buffer_pool_instances", "innodb_io_capacity"

STUB = """#!/usr/bin/env python3
import json, pathlib, subprocess, sys
here = pathlib.Path({here!r})
words = sys.argv[1:]
files = [pathlib.Path(word.removeprefix("file://")) for word in words if word.startswith(("/", "file:///"))]
fed = sys.stdin.read() if {reads} and "cat >" in words[-1] else ""
given = [path.read_text() for path in files if path.is_file()]
with (here / "calls").open("a") as calls:
    calls.write(json.dumps([pathlib.Path(sys.argv[0]).name, words, given, fed]) + "\\n")
for part, answer in json.loads((here / "answers").read_text()).items():
    if part in " ".join(words):
        print(answer)
"""


class Stubs:
    """Programs on PATH that record how they are called."""

    def __init__(self, directory):
        self.directory, self.given = directory, directory / "given"
        (directory / "bin").mkdir()
        self.answer({})

    def answer(self, answers):
        (self.directory / "answers").write_text(json.dumps(answers))

    def add(self, name, *, reads=False):
        path = self.directory / "bin" / name
        path.write_text(STUB.format(here=str(self.directory), reads=reads))
        path.chmod(0o755)

    def call(self, script, *words, settings, changes=(), undo=False, restart=True):
        """Run a ready command as dialin does; return the calls that it made."""
        calls = self.directory / "calls"
        calls.unlink(missing_ok=True)
        write_request(self.given, settings, {name: settings[name] for name in changes}, {}, restart=restart, is_undo=undo)
        waits = {"RDS_SECONDS": "0", "OPERATOR_SECONDS": "0"}
        environment = {**os.environ, **waits, "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}"}
        done = subprocess.run(
            [EXAMPLES / script, *words, self.given], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
        )
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []


@pytest.fixture
def stubs(tmp_path):
    return Stubs(tmp_path)


def test_each_is_short_and_says_how_it_was_tested():
    scripts = sorted(EXAMPLES.glob("*.sh"))
    assert [script.stem for script in scripts] == [
        "aws-rds", "compose", "gcloud-sql", "kubectl-cr", "option-file", "systemd-ssh"
    ]  # fmt: skip
    for script in scripts:
        text = script.read_text()
        assert len(text.splitlines()) <= 50, script
        tests = re.findall(r"tests\w*/[\w/]+\.py", text.partition("How it was tested: ")[2].partition("set -eu")[0])
        assert tests, script
        assert all((EXAMPLES.parents[1] / test).exists() for test in tests), tests
        assert os.access(script, os.X_OK)


def test_an_option_file_has_the_settings_and_then_what_it_had_before(stubs, tmp_path):
    file, words = tmp_path / "my.cnf", [str(tmp_path / "my.cnf"), f"touch {tmp_path / 'restarted'}"]
    file.write_text("[mysqld]\nport = 3307\n")
    stubs.call("option-file.sh", *words, settings={NAME: None}, undo=True)
    assert file.read_text() == "[mysqld]\nport = 3307\n", "a rehearsal changes nothing"
    stubs.call("option-file.sh", *words, settings={NAME: 4})
    stubs.call("option-file.sh", *words, settings={NAME: 8})
    assert file.read_text() == f"[mysqld]\nport = 3307\n[mysqld]\n{NAME} = 8\n"
    assert (tmp_path / "restarted").exists()
    stubs.call("option-file.sh", *words, settings={NAME: None}, undo=True)
    assert file.read_text() == "[mysqld]\nport = 3307\n"


def test_a_file_on_another_machine_is_written_over_ssh_and_its_unit_restarted(stubs):
    stubs.add("ssh", reads=True)
    stubs.answer({"if [ -e '/etc/my.cnf' ]": "[mysqld]\nport = 3307"})
    calls = stubs.call("systemd-ssh.sh", "db1", "/etc/my.cnf", "mysql", settings={NAME: 4})
    assert [words[:3] for _, words, *_ in calls] == [["-o", "BatchMode=yes", "db1"]] * 3
    assert [words[-1] for _, words, *_ in calls][1:] == ["cat >'/etc/my.cnf'", "systemctl restart 'mysql'"]
    assert calls[1][3] == f"[mysqld]\nport = 3307\n[mysqld]\n{NAME} = 4\n"
    calls = stubs.call("systemd-ssh.sh", "db1", "/etc/my.cnf", "mysql", settings={NAME: None}, undo=True)
    assert [words[-1] for _, words, *_ in calls] == ["cat >'/etc/my.cnf'", "systemctl restart 'mysql'"]
    assert calls[0][3] == "[mysqld]\nport = 3307\n"


def test_a_service_of_a_compose_file_is_created_again_with_an_option_file_as_a_volume(stubs):
    stubs.add("docker")
    ((_, words, given, _),) = stubs.call("compose.sh", "/srv/compose.yaml", "db", settings={NAME: 4})
    override = str(stubs.given / "override.yaml")
    rest = ["up", "--detach", "--no-deps", "--force-recreate", "db"]
    assert words == ["compose", "-f", "/srv/compose.yaml", "-f", override, *rest]
    volume = f"{stubs.given / 'settings.cnf'}:/etc/mysql/conf.d/zz-dialin.cnf:ro"
    assert given == [f'services:\n  db:\n    volumes:\n      - "{volume}"\n']
    ((_, words, *_),) = stubs.call("compose.sh", "/srv/compose.yaml", "db", settings={NAME: None}, undo=True)
    assert words == ["compose", "-f", "/srv/compose.yaml", *rest]


def test_the_configuration_of_a_custom_resource_is_patched_and_the_rollout_awaited(stubs):
    stubs.add("kubectl")
    stubs.answer({"--output jsonpath": "[mysqld]\nmax_connections=300"})
    words = ["pxc/prod", ".spec.pxc.configuration", "statefulset/prod-pxc", "databases"]
    calls = stubs.call("kubectl-cr.sh", *words, settings={NAME: None}, undo=True)
    assert ["rollout", "restart", "statefulset/prod-pxc"] in [call[1][2:] for call in calls], "a rehearsal restarts as well"
    calls = stubs.call("kubectl-cr.sh", *words, settings={NAME: 4})
    patch, status = calls[0][1], calls[1][1]
    assert patch[:4] == ["--namespace", "databases", "patch", "pxc/prod"]
    written = json.loads(calls[0][2][0])["spec"]["pxc"]["configuration"]
    assert written == f"[mysqld]\nmax_connections=300\n\n[mysqld]\n{NAME} = 4\n"
    assert status[2:5] == ["rollout", "status", "statefulset/prod-pxc"]
    calls = stubs.call("kubectl-cr.sh", *words, settings={NAME: None}, undo=True)
    assert json.loads(calls[0][2][0])["spec"]["pxc"]["configuration"] == "[mysqld]\nmax_connections=300\n"


GROUP = {"Parameters": [{"ParameterName": OTHER, "ParameterValue": "{DBInstanceClassMemory/1000000}"}]}


def test_a_parameter_group_is_modified_and_what_it_did_not_set_is_reset(stubs):
    stubs.add("aws")
    stubs.answer({"describe-db-parameters": json.dumps(GROUP)})
    calls = stubs.call("aws-rds.sh", "db", "mine", settings={NAME: 4, OTHER: 500})
    verbs = [(words[1], words[2]) for _, words, *_ in calls]
    available = ("wait", "db-instance-available")
    assert [one for one, _ in verbs] == [
        "describe-db-parameters", "modify-db-parameter-group", "wait", "reboot-db-instance", "wait"
    ]  # fmt: skip
    assert verbs[2] == verbs[4] == available
    assert json.loads(calls[1][2][0]) == [
        {"ParameterName": NAME, "ApplyMethod": "pending-reboot", "ParameterValue": "4"},
        {"ParameterName": OTHER, "ApplyMethod": "pending-reboot", "ParameterValue": "500"},
    ]
    calls = stubs.call("aws-rds.sh", "db", "mine", settings={NAME: 1, OTHER: 200}, undo=True, restart=False)
    modify, reset, _ = calls
    assert json.loads(modify[2][0]) == [
        {"ParameterName": OTHER, "ApplyMethod": "immediate", "ParameterValue": "{DBInstanceClassMemory/1000000}"}
    ]
    assert json.loads(reset[2][0]) == [{"ParameterName": NAME, "ApplyMethod": "immediate"}]


def test_flags_of_cloud_sql_are_given_with_those_that_were_set_before(stubs):
    stubs.add("gcloud")
    stubs.answer({"describe": json.dumps({"settings": {"databaseFlags": [{"name": OTHER, "value": "300"}]}})})
    calls = stubs.call("gcloud-sql.sh", "db", settings={NAME: 4}, changes=[NAME])
    assert [words[2] for _, words, *_ in calls] == ["describe", "patch"]
    assert json.loads(calls[1][2][0]) == {"--database-flags": {OTHER: "300", NAME: "4"}}
    calls = stubs.call("gcloud-sql.sh", "db", settings={NAME: None}, changes=[NAME], undo=True)
    assert json.loads(calls[0][2][0]) == {"--database-flags": {OTHER: "300"}}


def test_without_flags_before_they_are_all_taken_away_and_a_rehearsal_restarts_by_itself(stubs):
    stubs.add("gcloud")
    stubs.answer({"describe": "null"})
    calls = stubs.call("gcloud-sql.sh", "db", settings={NAME: None}, undo=True)
    assert json.loads(calls[1][2][0]) == {"--clear-database-flags": True}
    assert [words[2] for _, words, *_ in calls] == ["describe", "patch", "restart"]
