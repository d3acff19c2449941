"""Changes the description and options of an experiment after its creation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.config.edits import check_growth, edit_section
from determined_master.domain.config.experiment_config import ExperimentConfig
from determined_master.domain.config.policies.rules import check_change
from determined_master.domain.errors import FailedPrecondition, InvalidArgument
from determined_master.domain.states import LEAVING, TERMINAL
from determined_master.records.experiments import ExperimentRow
from determined_master.services.access.guard import controlled
from determined_master.services.configs.policies import policies_of
from determined_master.store.experiments import experiments as rows
from determined_master.store.logs import retention as log_retention

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.config.sizes import ConfigLimits
    from determined_master.services.checkpoints.gc import CheckpointGc
    from determined_master.services.cluster.pools import Pools
    from determined_master.services.queue.job_terms import JobTermsSync
    from determined_master.store.db import Conn


class ExperimentChanges(msgspec.Struct, frozen=True, kw_only=True):
    """Changes of a user; None keeps a field."""

    name: str | None = None
    description: str | None = None
    notes: str | None = None
    labels: Sequence[str] | None = None
    resources: Mapping[str, Any] | None = None
    """Of `max_slots`, `weight`, `priority`."""
    checkpoint_storage: Mapping[str, Any] | None = None
    """Of `save_experiment_best`, `save_trial_best`, `save_trial_latest`."""
    log_retention_days: int | None = None
    """-1 forever."""


class ExperimentEdits:
    """Edits of experiments; two at once never undo each other."""

    def __init__(
        self,
        db: asyncpg.Pool,
        checkpoint_gc: CheckpointGc,
        terms: JobTermsSync,
        pools: Pools,
        limits: ConfigLimits,
    ) -> None:
        self._db = db
        self._limits = limits
        self._pools = pools
        self._terms = terms
        self._checkpoint_gc = checkpoint_gc

    async def edit(self, caller: Caller, experiment_id: int, changes: ExperimentChanges) -> None:
        """Apply changes; none of them when one cannot be.

        Checkpoints of an ended experiment that the new policy does not keep are deleted then; one
        that continues keeps them all until its end.

        Raises:
            InvalidArgument: a value is invalid, or exceeds a limit or a config policy; its path
                is named.
            FailedPrecondition: the resources of an ended experiment, or it is being deleted, or
                a config policy sets the value.
        """
        if changes.name is not None and not changes.name.strip():
            raise InvalidArgument("the experiment's `name` must not be blank: give it some text")
        _check_labels(changes.labels or ())
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, caller, experiment_id)
            if changes.resources and row.state in TERMINAL:
                raise FailedPrecondition(
                    f"experiment in terminal state: experiment {experiment_id} is {row.state} "
                    "and uses no resources any more"
                )
            await self._check_policies(conn, row, changes)
            await self._write(conn, row, changes)
            if changes.log_retention_days is not None:
                await log_retention.forget_trial_days(conn, experiment_id)
        if changes.resources:
            await self._terms.sync([row.job_id])
        if changes.checkpoint_storage and row.state in TERMINAL:
            await self._checkpoint_gc.apply_policy(experiment_id)

    async def label(
        self, caller: Caller, experiment_id: int, label: str, *, is_present: bool
    ) -> list[str]:
        """Give it a label, or take it away; its labels then. Raises as `edit` does."""
        _check_labels((label,))
        async with self._db.acquire() as conn, conn.transaction():
            row = await _lock(conn, caller, experiment_id)
            labels = [each for each in row.labels if each != label]
            labels += [label] if is_present else []
            await self._write(conn, row, ExperimentChanges(labels=labels))
        return labels

    async def retain_logs(self, caller: Caller, experiment_id: int, *, days: int) -> None:
        """Set the days for which the logs of its tasks are kept; -1 is forever."""
        await self.edit(caller, experiment_id, ExperimentChanges(log_retention_days=days))

    async def _write(self, conn: Conn, row: ExperimentRow, changes: ExperimentChanges) -> None:
        columns = _columns(row, changes)
        if "config" in columns:
            check_growth(row.config, columns["config"], self._limits)
        await rows.update_details(conn, row.id, columns)

    async def _check_policies(
        self, conn: Conn, row: ExperimentRow, changes: ExperimentChanges
    ) -> None:
        if not (changes.resources or changes.checkpoint_storage):
            return
        policies = await policies_of(conn, row.workspace_id)
        priorities = self._pools.priorities(row.resource_pool)
        for section, edits in (
            ("resources", changes.resources),
            ("checkpoint_storage", changes.checkpoint_storage),
        ):
            check_change(section, edits or {}, policies, priorities=priorities)


def _check_labels(labels: Iterable[str]) -> None:
    if any(not label.strip() for label in labels):
        raise InvalidArgument("a label must not be blank: give it some text")


async def _lock(conn: Conn, caller: Caller, experiment_id: int) -> ExperimentRow:
    found = await rows.lock_experiment(conn, experiment_id)
    row = controlled(caller, found, experiment_id)
    if row.state in LEAVING:
        raise FailedPrecondition(
            f"experiment {experiment_id} is being deleted ({row.state}): nothing of it can be "
            "changed any more"
        )
    return row


def _columns(row: ExperimentRow, changes: ExperimentChanges) -> dict[str, Any]:
    """The columns to write, the configuration among them."""
    columns: dict[str, Any] = {}
    config = dict(row.config)
    for name in ("name", "description", "notes", "labels"):
        value = getattr(changes, name)
        if value is not None:
            columns[name] = list(dict.fromkeys(value)) if name == "labels" else value
            if name != "notes":
                config[name] = columns[name]
    sections = {
        "resources": changes.resources,
        "checkpoint_storage": changes.checkpoint_storage,
        "retention_policy": None
        if changes.log_retention_days is None
        else {"log_retention_days": changes.log_retention_days},
    }
    for section, edits in sections.items():
        if edits:
            config[section] = edit_section(config, section, edits)
    if config != row.config:
        columns["config"] = config
    if ExperimentConfig(config).resources.priority != row.typed.resources.priority:
        columns["queue_position"] = None  # it joins its new equals by its age
    return columns
