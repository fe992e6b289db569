"""What every published and stored model has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A model that never changes and knows all of its fields."""

    # What checks a model is built when it is first used: a command uses few of them, and waits for each.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
