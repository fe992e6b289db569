"""The base class of all published and stored models."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class FrozenModel(BaseModel):
    """An immutable model that rejects unknown fields."""

    # A model's validator is built at its first use: a command uses few models, and building each takes time.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Document(FrozenModel):
    """A model that is written as a file of its own, with the name of its format as `schema`."""

    model_config = ConfigDict(populate_by_name=True)
