"""Records of the model registry."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec


class TrialSource(msgspec.Struct, frozen=True, kw_only=True):
    """A trial uses a checkpoint; by its model's version, when it was found there."""

    trial_id: int
    checkpoint: str
    type: str
    model_id: int | None = None
    model_version: int | None = None


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint is this version of a model; `name` is the version's own."""

    model_id: int
    model_name: str
    version: int
    name: str


class ModelRow(msgspec.Struct, frozen=True, kw_only=True):
    """One model as lists and pages show it."""

    id: int
    name: str
    description: str
    metadata: dict[str, Any]
    labels: list[str]
    notes: str
    user_id: int
    username: str
    workspace_id: int
    archived: bool
    num_versions: int
    created_at: datetime
    updated_at: datetime


class ModelFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Which models a list shows; empty values do not restrict it."""

    name: str = ""
    """A part of the name, in any case."""
    description: str = ""
    labels: Sequence[str] = ()
    """All of them."""
    archived: bool | None = None
    usernames: Sequence[str] = ()
    user_ids: Sequence[int] = ()
    workspace_ids: Sequence[int] = ()
    workspace_names: Sequence[str] = ()
    id: int = 0
