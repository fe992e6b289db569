"""What is asked of podman or docker; the engines are scripts on PATH. Real ones run in tests_live/test_images.py."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import ValidationError

from dialin.cause_sentences import sentence
from dialin.errors import MachineError, UserError
from dialin.model.build import Image
from dialin.model.cause import Cause, CauseCode, exit_at_limit
from dialin.model.study import Candidate, StudySpec
from dialin.model.verdict import AgainstBest, Estimate
from dialin.question.options import StudyOptions
from dialin.servers.containers import Container, find_image
from dialin.variables.check import check_fits
from dialin.variables.memory import Need, Room
from dialin.verdict.outcome_notes import smallest_memory_notes

GIB = 2**30
PLACE = Path("/x/sandboxes/abc")


@pytest.fixture
def engines(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", f"{tmp_path}")

    def put(name, script):
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)

    return put


def command(**limits):
    image = Image("podman", "mysql:8.4", "d1ge57", "/usr/sbin/mysqld", **limits)
    return Container(image, "abc", [PLACE]).command(["--defaults-file=my.cnf"])


def test_a_container_has_its_limits_its_label_and_no_network():
    words = command(memory=2 * GIB, cpus="0-3")
    assert {f"--memory={2 * GIB}", f"--memory-swap={2 * GIB}", "--cpuset-cpus=0-3"} <= set(words)
    assert {"--pull=never", "--network=none", "--name=dialin-abc", "--label=dialin=abc"} <= set(words)
    assert f"--volume={PLACE}:{PLACE}" in words
    assert words[-3:] == ["--entrypoint=/usr/sbin/mysqld", "d1ge57", "--defaults-file=my.cnf"]


def test_cpu_time_is_a_quota_of_the_container():
    assert "--cpus=1.5" in command(cpus="1.5")


def test_a_limit_that_the_kernel_does_not_enforce_is_an_error(monkeypatch):
    def container(**limits):
        return Container(Image("podman", "mysql:8.4", "d1ge57", "/usr/sbin/mysqld", **limits), "abc", [PLACE])

    monkeypatch.setattr("dialin.servers.containers.control_groups.memory_limit", lambda memory, process: GIB)
    monkeypatch.setattr("dialin.servers.containers.control_groups.cpu_quota", lambda process: None)
    container(memory=GIB).check_limits(os.getpid())
    for limits in ({"memory": GIB // 2}, {"cpus": "1.5"}, {"cpus": "99"}):
        with pytest.raises(MachineError, match="podman does not enforce"):
            container(**limits).check_limits(os.getpid())


def test_a_container_without_limits_is_given_none():
    assert not [word for word in command() if word.startswith(("--memory", "--cpu"))]


def test_the_engine_that_has_the_image_runs_it(engines):
    engines("podman", "echo 'no such image' >&2; exit 125")
    engines("docker", "echo sha256:abcdef")
    assert find_image("mysql:8.4") == ("docker", "abcdef")


def test_an_absent_image_is_the_users_to_pull(engines):
    engines("podman", "echo 'Error: mysql:8.4: image not known' >&2; exit 125")
    with pytest.raises(UserError, match="image not known") as caught:
        find_image("mysql:8.4")
    assert caught.value.remedy == "Pull it: podman pull mysql:8.4"


@pytest.mark.parametrize("name", ["", "--privileged"])
def test_no_option_of_an_engine_is_taken_for_an_image(engines, name):
    engines("podman", "echo sha256:abcdef")
    with pytest.raises(UserError, match="names no image"):
        find_image(name)


@pytest.mark.usefixtures("engines")
def test_a_machine_without_an_engine_is_told_what_it_needs():
    with pytest.raises(UserError, match="needs podman or docker"):
        find_image("mysql:8.4")


def test_a_kill_at_the_limit_is_named_as_certain_only_where_it_is():
    def said(*, is_certain):
        return sentence(Cause(CauseCode.SERVER_ENDED, {"exit": exit_at_limit(GIB, is_certain=is_certain)}))

    assert said(is_certain=True).startswith(
        "The server ended: the kernel killed it at the memory limit of its container (1.0 GiB"
    )
    assert "as the kernel does at the memory limit" in said(is_certain=False)


def test_the_limit_of_the_container_counts_as_the_machines_memory():
    room = Room(8 * GIB, 16 * GIB, 100 * GIB, 4)
    check_fits("big", Need({"buffer pool": 2 * GIB}, 0), room)
    with pytest.raises(UserError, match=r"its container has 1\.0 GiB \(--server-memory\)"):
        check_fits("big", Need({"buffer pool": 2 * GIB}, 0), room.limited(GIB))
    check_fits("small", Need({"buffer pool": GIB // 2}, 0), room.limited(GIB))


def test_sizes_are_compared_each_with_half_of_it_for_the_pool():
    question = StudyOptions.model_validate({"server": "image:mysql:8.4", "server-memory": "1G,2G"})
    assert question.settings() == [
        ("1G", {"innodb_buffer_pool_size": GIB // 2}),
        ("2G", {"innodb_buffer_pool_size": GIB}),
    ]


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"server": "mysql@9.7", "sweep": {"a": [1, 2]}, "server-memory": "1G"}, "limits the container of an image"),
        ({"server": "image:x", "sweep": {"a": [1, 2]}, "server-memory": "1G,2G"}, "leave out other values"),
        ({"server": "image:x", "sweep": {"a": [1, 2]}, "server-memory": "much"}, "is not a size such as 2G"),
        ({"server": "image:x", "server-memory": "1G,1G"}, "the same size twice"),
        ({"server": "image:x", "sweep": {"a": [1, 2]}, "server-memory": "1M"}, "64M or more"),
        ({"server": "mysql@9.7", "sweep": {"a": [1, 2]}, "server-cpus": "1.5"}, "limits the container of an image"),
        ({"server": "image:x", "sweep": {"a": [1, 2]}, "load-cpus": "1.5"}, "is not a list of CPUs"),
    ],
)
def test_a_limit_that_cannot_be_kept_is_refused(options, why):
    with pytest.raises(ValidationError, match=why):
        StudyOptions.model_validate(options)


def test_one_limit_is_that_of_every_candidate_also_of_those_that_enter_later():
    candidates = tuple(Candidate(name=name, server="mysql@8.4.2-image.x") for name in "ab")
    spec = StudySpec(candidates=candidates, baseline="a", server_memory=(GIB,))
    later = spec.with_candidates([Candidate(name="c", server="mysql@8.4.2-image.x")])
    assert {later.memory_of(name) for name in "abc"} == {GIB}


def test_the_smallest_size_that_is_as_good_as_the_largest_is_named():
    sizes = {"1G": GIB, "2G": 2 * GIB, "4G": 4 * GIB}
    candidates = tuple(Candidate(name=name, server="mysql@8.4.2-image.x", memory=each) for name, each in sizes.items())
    spec = StudySpec(candidates=candidates, baseline="4G", server_memory=tuple(sizes.values()), worthwhile=0.05)

    def noted(low_of_1g, low_of_2g, state=AgainstBest.TIES, spec=spec):
        lows = {"1G": low_of_1g, "2G": low_of_2g, "4G": 1.0}
        ratios = {name: Estimate(mean=1.0, low=low, high=1.1) for name, low in lows.items()}
        states = dict.fromkeys(sizes, AgainstBest.TIES) | {"1G": state}
        return [one.sentence(spec) for one in smallest_memory_notes(spec, SimpleNamespace(ratios=ratios, states=states))]

    assert noted(0.6, 0.97) == ["2G is the smallest size shown not to be worse than 4G by more than 5 %"]
    assert noted(0.96, 0.97) == ["1G is the smallest size shown not to be worse than 4G by more than 5 %"]
    assert noted(0.96, 0.9, AgainstBest.UNSAFE) == noted(None, 0.9) == []
    assert noted(0.96, 0.97, spec=spec.model_copy(update={"baseline": "1G"})) == []
