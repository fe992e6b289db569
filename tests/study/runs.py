"""Studies whose truth is known, without servers: what their tests share."""

from dialin.model.trial import Purpose
from dialin.testing.trials import SimulatedTrials

FORCED = {name: {"innodb_buffer_pool_instances": name} for name in ("1", "4", "16")}


def simulated(one=1000, four=1000, sixteen=1000, **others):
    return SimulatedTrials({"1": one, "4": four, "16": sixteen}, in_force=FORCED, **others)


def shorter(spec, **changes):
    """A budget of four blocks, which is enough where nothing is to be found."""
    return spec.model_copy(update={"minutes": 4, **changes})


def raced(record, block=None):
    """The candidates that ran in the race, or in one block of it, in order."""
    return [t.candidate for t in record.trials if t.purpose is Purpose.RACE and block in (None, t.block)]


class Killed(BaseException):
    """As kill -9 would end it: nothing is tidied."""


def kill_at(number, **others):
    """Trials of which one, by its number, is killed as it begins."""

    def kill(trial):
        if trial.id == number:
            raise Killed

    return simulated(before=kill, **others)
