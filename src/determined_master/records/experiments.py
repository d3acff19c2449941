"""Records of experiments and runs, and which of them a list asks for."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.domain.config.experiment_config import ExperimentConfig


class ListedRun(msgspec.Struct, frozen=True):
    """The data of a run that changes without its row, and the version of its rows."""

    id: int
    version: str
    state: str
    started_at: datetime
    ended_at: datetime | None


class RunRow(msgspec.Struct, frozen=True, kw_only=True):
    """One run with what lists show of its experiment and project."""

    id: int
    experiment_id: int
    number: int
    archived: bool
    state: str
    searcher_metric: float | None
    started_at: datetime
    ended_at: datetime | None
    hparams: str
    """JSON, as are `summary_metrics` and `metadata`: they are only passed on."""
    summary_metrics: str
    metadata: str | None
    checkpoint_size: int
    checkpoint_count: int
    log_policy_matched: str | None
    labels: list[str]
    user_id: int
    searcher_type: str
    searcher_metric_name: str
    forked_from: int | None
    external_experiment_id: str | None
    external_run_id: str | None
    resource_pool: str
    progress: float
    description: str
    name: str
    unmanaged: bool
    project_id: int
    project_name: str
    project_key: str
    workspace_id: int
    workspace_name: str
    parent_archived: bool


class ExperimentRow(msgspec.Struct, frozen=True, kw_only=True):
    """One experiment as lists and pages show it."""

    id: int
    job_id: str
    user_id: int
    username: str
    display_name: str
    workspace_id: int
    workspace_name: str
    project_id: int
    project_name: str
    project_owner_id: int
    parent_archived: bool
    state: str
    reason: str
    name: str
    description: str
    labels: list[str]
    notes: str
    archived: bool
    unmanaged: bool
    external_id: str | None
    forked_from: int | None
    config: dict[str, Any]
    searcher_type: str
    searcher_metric: str
    smaller_is_better: bool
    resource_pool: str
    model_definition_size: int
    progress: float
    num_trials: int
    best_trial_id: int | None
    best_metric: float | None
    checkpoint_count: int
    checkpoint_size: int
    started_at: datetime
    ended_at: datetime | None
    queue_position: Decimal | None = None
    """Of its job, if a user has moved it."""

    @property
    def typed(self) -> ExperimentConfig:
        """The configuration as decisions read it."""
        return ExperimentConfig(self.config)


WorkloadKey = int | str
"""Of a report its id, of a checkpoint its UUID."""


DEFAULT_LIMIT = 100


class ExperimentQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which experiments, in which order, and which part of them; empty means all."""

    name: str = ""
    description: str = ""
    labels: Sequence[str] = ()
    archived: bool | None = None
    """Itself, or with its project or workspace; None for both."""
    states: Sequence[str] = ()
    users: Sequence[str] = ()
    user_ids: Sequence[int] = ()
    project_id: int = 0
    ids: Sequence[int] = ()
    not_ids: Sequence[int] = ()
    id_from: int | None = None
    id_to: int | None = None
    workspace_ids: Sequence[int] | None = None
    """Those that the caller sees; None for all."""
    sort: str = "id"
    descending: bool = False
    offset: int = 0
    limit: int = 0


class ExperimentVersion(msgspec.Struct, frozen=True):
    """The fields that each request for an experiment's page reads."""

    version: str
    state: str
    job_id: str
    user_id: int
    workspace_id: int


class ListItem(msgspec.Struct, frozen=True):
    """The fields that a list reads of every experiment; the rest only for a new `version`."""

    id: int
    version: str
    """Another text whenever one of the rows behind an item was written."""
    state: str
    started_at: datetime
    ended_at: datetime | None
    best_trial_id: int | None
