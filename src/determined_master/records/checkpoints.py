"""Records of checkpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


class CheckpointOrigin(msgspec.Struct, frozen=True, kw_only=True):
    """The training of a checkpoint whose experiment is deleted."""

    experiment_id: int
    trial_id: int | None
    experiment_config: dict[str, Any]
    """The parts that name the experiment; no variables and no credentials."""
    hparams: dict[str, Any] | None
    training_metrics: dict[str, Any] | None
    validation_metrics: dict[str, Any] | None
    searcher_metric: float | None
    code_sha256: str | None
    """Of its model definition, as hex; None where it had none."""


class CheckpointRow(msgspec.Struct, frozen=True, kw_only=True):
    """One checkpoint with its training metrics."""

    uuid: str
    task_id: str | None
    allocation_id: str | None
    trial_id: int | None
    experiment_id: int | None
    state: str
    reported_at: datetime
    steps: int
    resources: dict[str, int]
    metadata: dict[str, Any]
    size: int
    storage_id: int | None
    experiment_config: dict[str, Any] | None
    owner_id: int | None
    """The user of the experiment."""
    workspace_id: int | None
    """That of the experiment."""
    hparams: dict[str, Any] | None
    training_metrics: dict[str, Any] | None
    validation_metrics: dict[str, Any] | None
    searcher_metric: float | None
    origin: dict[str, Any] | None
    """A `CheckpointOrigin`, if the experiment is deleted."""
