"""What `dialin advise` prints: what was read from a server, and the experiments that are worthwhile there."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Literal

from pydantic import Field

from dialin.model.fitness import Finding
from dialin.model.frozen import Document, FrozenModel
from dialin.model.setting import Value


class Weight(StrEnum):
    """How much a figure of the server speaks for an experiment, the strongest first.

    `waited`: the server waited, or reached a limit, while it was watched. `work`: it did work that another value may save.
    `machine`: the value differs from what a rule of thumb recommends for this machine and its data. `changed`: somebody
    changed the default.
    """

    WAITED = "waited"
    WORK = "work"
    MACHINE = "machine"
    CHANGED = "changed"


WEIGHTS = tuple(Weight)


class Trigger(FrozenModel):
    """A rule that speaks for an experiment, with the figure of this server that triggered it."""

    code: str = Field(description="code of the rule, for scripts")
    weight: Weight = Field(description="waited, work, machine or changed, the strongest first")
    figure: Value = Field(description="the figure that triggered the rule; its sentence says what it is")
    source: str = Field(description="where the rule comes from")
    text: str = Field(description="the trigger in a sentence")


class Studied(StrEnum):
    """Where the command of an experiment runs.

    `server`: on the server, with a load of dialin's own. `managed`: the same, with settings applied by a command. `traffic`: on
    the server, under its clients' traffic. `replay`: on a sandbox, with statements recorded on the server. `sandbox`: on a
    sandbox, with a load of dialin's own.
    """

    SERVER = "server"
    MANAGED = "managed"
    TRAFFIC = "traffic"
    REPLAY = "replay"
    SANDBOX = "sandbox"


class Experiment(FrozenModel):
    """A variable that is worth an experiment on this server."""

    variable: str
    now: Value = Field(description="its value in force")
    values: tuple[Value, ...] = Field(description="the values to compare with it")
    beside: Mapping[str, Value] = Field(
        default_factory=dict, description="variables that would otherwise limit it, with values for all candidates"
    )
    at_start: bool = Field(description="whether only a start of the server can set it")
    triggers: tuple[Trigger, ...] = Field(description="strongest first")
    command: str = Field(default="", description="the command that tests it")
    studied: Studied = Field(
        default=Studied.SANDBOX, description="where that command runs: server, managed, traffic, replay or sandbox"
    )

    @property
    def weight(self) -> Weight:
        """The weight of the strongest trigger."""
        return self.triggers[0].weight


class UnreadCode(StrEnum):
    """What could not be read of a server, so that some rules were silent."""

    PROBE = "probe"
    DEFAULTS = "defaults"
    MACHINE = "machine"
    DATA = "data"
    SOME_DATA = "some_data"
    IDLE = "idle"
    AT_START = "at_start"


class Unread(FrozenModel):
    """Something that could not be read."""

    code: UnreadCode
    text: str = Field(description="what is missing, and what would show it, in a sentence")


class Watch(FrozenModel):
    """The load of the server while it was watched."""

    seconds: float
    queries: float | None = Field(description="statements per second")
    running: float | None = Field(description="threads at work, on average")
    data: float | None = Field(description="bytes of the tables and indexes that the account sees")
    load: str = Field(default="", description="the load that dialin applied; empty for the server's own")


class Advice(Document):
    """What `dialin advise --json` prints."""

    schema_: Literal["dialin/advice/1"] = Field(default="dialin/advice/1", alias="schema")
    server: str = Field(description="the build, such as mysql@9.7.4")
    place: str = Field(description="account and address of an attached server; empty for a sandbox")
    watch: Watch
    experiments: tuple[Experiment, ...] = Field(description="strongest first")
    silent: tuple[str, ...] = Field(description="codes of the rules that no figure of this server triggered")
    unread: tuple[Unread, ...] = Field(description="what could not be read")
    capture: str = Field(
        default="", description="the command that records the server's statements, where a command replays them"
    )
    machine: tuple[Finding, ...] = Field(description="what `dialin doctor` finds to disturb an experiment on this machine")
