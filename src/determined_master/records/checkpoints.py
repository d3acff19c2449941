"""Records of checkpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec


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
