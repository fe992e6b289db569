"""What every command that uses servers shares: the home directory, the ledger of sandboxes, the preparer of data."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from dialin.clock import Clock, SystemClock
from dialin.datasets.cache import DEFAULT_LIMIT, DatasetCache
from dialin.datasets.prepare import Preparer
from dialin.datasets.restore import KeptData
from dialin.errors import UserError
from dialin.model.build import Build, BuildReference, Vendor
from dialin.model.setting import Value
from dialin.model.trial import EffectiveSettings
from dialin.paths import Home
from dialin.servers import builds, dry_run, process_limits
from dialin.servers.install import image_file_system
from dialin.servers.ledger import Ledger
from dialin.trials.build_catalogue import catalogue_of
from dialin.variables import check
from dialin.variables.catalogue import Catalogue


@dataclass(frozen=True, slots=True)
class Tools:
    """What commands share.

    Attributes:
        inspected: the effective settings that were read so far, by all that they depend on: the studies of a suite have the
            same candidates.
        kept: the data that trials on sandboxes leave for the next ones, of all studies of a suite.
        snapshot_command: the user's command that restores the data of sandboxes; None where dialin does.
    """

    home: Home
    clock: Clock
    ledger: Ledger
    preparer: Preparer
    say: Callable[[str], None]
    inspected: dict[Hashable, EffectiveSettings] = field(default_factory=dict)
    kept: KeptData = field(default_factory=KeptData)
    snapshot_command: str | None = None

    @classmethod
    def open(cls, say: Callable[[str], None], environment: Mapping[str, str] = os.environ) -> Tools:
        """Put the tools together; nothing is started.

        Raises:
            UserError: `DIALIN_CACHE_LIMIT_GB` is not a number, or a limit of the shell is too low.
        """
        process_limits.check()
        home, clock = Home.of(environment), SystemClock()
        ledger = Ledger(home.ledger)
        cache = DatasetCache(home, clock, _limit(environment), say)
        return cls(home, clock, ledger, Preparer(home, cache, ledger, clock, say), say)

    def check_setting(self, build: Build, setting: Mapping[str, Value]) -> None:
        """Make sure that a build knows the variables and takes the values.

        Raises:
            UserError: it does not.
        """
        check.check_setting(setting, self.catalogue(build), {})
        dry_run.check(build, setting)

    def choose(self, requested: Sequence[str], installed: Sequence[Build]) -> dict[str, Build]:
        """Return the requested builds by what the user wrote; without a request, the newest MySQL, else the newest MariaDB.

        Raises:
            UserError: a requested build is not on this machine, or no build is.
        """
        if requested:
            return {text: self.find(text, installed) for text in requested}
        for vendor in Vendor:
            if any(BuildReference(vendor).matches(build) for build in installed):
                return {str(vendor): builds.find(vendor, installed, self.home)}
        raise UserError("No MySQL or MariaDB was found on this machine", "Install one: dialin servers install mysql@9.7")

    def find(self, text: str, installed: Sequence[Build]) -> Build:
        """Return the build that the user's text refers to, or `image:NAME`; see `builds.find`.

        Raises:
            UserError: there is none here.
        """
        if text.startswith(image_file_system.PREFIX):
            name = text.removeprefix(image_file_system.PREFIX)
            return image_file_system.image_build(self.home, name, self.say, self.verify)
        build = builds.find(text, installed, self.home)
        image_file_system.check_image(build)
        return build

    def verify(self, build: Build) -> None:
        """Start a server of a build; the errors are those of `catalogue`."""
        self.catalogue(build)

    def catalogue(self, build: Build) -> Catalogue:
        """Return the catalogue of a build's variables.

        Raises:
            ServerError: the server does not start.
        """
        return catalogue_of(build, self.home, self.clock, self.preparer, self.say)


def _limit(environment: Mapping[str, str]) -> int:
    text = environment.get("DIALIN_CACHE_LIMIT_GB")
    if not text:
        return DEFAULT_LIMIT
    try:
        return int(float(text) * 1024**3)
    except ValueError:
        raise UserError(f"DIALIN_CACHE_LIMIT_GB is {text!r}", "Give a number of gigabytes, such as 50") from None
