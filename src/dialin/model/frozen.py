"""What every published and stored model has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """A model that never changes and knows all of its fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)
