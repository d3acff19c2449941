"""Changes since the last look of the live channel.

Every part of the master reports here, from its hot paths too: while nobody watches a report is
one comparison, and otherwise an entry in a set. Nothing here waits.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import datetime
from typing import Any

from determined_master.services.updates.live.columns import ReportColumns

MAX_KNOWN = 100_000
"""Trials whose experiment is remembered."""
MAX_CHANGED = 50_000
"""Changed things of a kind; with more of them all viewers are reset."""


class Changes:
    """Ids of changed things since the last look."""

    def __init__(self) -> None:
        self.trials: set[int] = set()
        self.experiments: set[int] = set()
        self.states: dict[int, str] = {}
        """States of experiments that the engine has written."""
        self.tasks: set[str] = set()
        self.pools: set[str] = set()
        self.agents: set[str] = set()
        """Agents whose containers have changed."""
        self.models: set[int] = set()
        self.versions: set[int] = set()
        """Versions of models."""
        self.left: dict[int, set[int]] = {}
        """By project: runs that were deleted, or moved to another project."""
        self.permissions: set[int | None] = set()
        """Users whose permissions may have changed; None for all."""
        self.are_unknown = False
        """Whether changes were missed."""

    def is_empty(self) -> bool:
        """Whether nothing has changed."""
        return not (self.are_unknown or any(self._sets()))

    def is_large(self) -> bool:
        """Whether there are more than can be sent one by one."""
        return any(len(some) > MAX_CHANGED for some in self._sets())

    def _sets(self) -> tuple[Any, ...]:
        return (
            self.trials,
            self.experiments,
            self.tasks,
            self.pools,
            self.agents,
            self.models,
            self.versions,
            self.left,
            self.permissions,
        )


class LiveNews:
    """Collects changes while somebody watches."""

    def __init__(self) -> None:
        self.is_watched = False
        self.reports: dict[int, ReportColumns] = {}
        """New metric reports by trial: of the watched trials."""
        self.watched_logs: dict[str, Callable[[], None]] = {}
        """By task: called when it may have new lines."""
        self.on_permissions: Callable[[], None] = _nothing
        """Called when roles, users or sessions change."""
        self._changes = Changes()
        self._experiments: OrderedDict[int, int] = OrderedDict()
        self._wake = asyncio.Event()

    async def wait(self) -> None:
        """Wait for the first change."""
        await self._wake.wait()

    def take(self) -> Changes:
        """The changes since the last call."""
        taken, self._changes = self._changes, Changes()
        self._wake.clear()
        if taken.is_large():
            taken.are_unknown = True
        return taken

    def experiment_of(self, trial_id: int) -> int | None:
        """The experiment of a trial, if it is known."""
        return self._experiments.get(trial_id)

    def know(self, trial_id: int, experiment_id: int) -> None:
        """Remember whose a trial is."""
        self._experiments[trial_id] = experiment_id
        if len(self._experiments) > MAX_KNOWN:
            self._experiments.popitem(last=False)

    def trial(self, trial_id: int, experiment_id: int | None = None) -> None:
        """A trial has changed."""
        if not self.is_watched:
            return
        self._changes.trials.add(trial_id)
        if experiment_id is not None and trial_id not in self._experiments:
            self.know(trial_id, experiment_id)
        self._wake.set()

    def report(
        self,
        trial_id: int,
        experiment_id: int,
        group: str,
        batches: int,
        at: datetime,
        metrics: Mapping[str, Any],
    ) -> None:
        """A metric report is stored."""
        if not self.is_watched:
            return
        columns = self.reports.get(trial_id)
        if columns is not None:
            columns.add(group, batches, at, metrics)
        self.trial(trial_id, experiment_id)

    def experiment(self, experiment_id: int, state: str | None = None) -> None:
        """An experiment has changed; `state` is the one that the engine has written."""
        if not self.is_watched:
            return
        self._changes.experiments.add(experiment_id)
        if state is not None:
            self._changes.states[experiment_id] = state
        self._wake.set()

    def task(self, task_id: str) -> None:
        """A command, notebook, shell, TensorBoard or generic task has changed."""
        if self.is_watched:
            self._changes.tasks.add(task_id)
            self._wake.set()

    def pool(self, name: str) -> None:
        """The queue of a pool may have changed."""
        if self.is_watched:
            self._changes.pools.add(name)
            self._wake.set()

    def agents(self, ids: Iterable[str]) -> None:
        """Containers on these agents have changed."""
        if self.is_watched:
            self._changes.agents.update(ids)
            self._wake.set()

    def lines(self, task_id: str) -> None:
        """A task may have new lines."""
        wake = self.watched_logs.get(task_id)
        if wake is not None:
            wake()

    def permissions(self, user_ids: Collection[int] | None = None) -> None:
        """Roles, groups or sessions have changed: of these users, or of anyone."""
        if self.is_watched:
            self._changes.permissions.update((None,) if user_ids is None else user_ids)
            self._wake.set()
            self.on_permissions()

    def session_ended(self) -> None:
        """A token is good no longer."""
        if self.is_watched:
            self.on_permissions()

    def on_entity(self, kind: str, id: int) -> None:
        """A row has changed, as `EntityChanges` publishes it."""
        kind, _, project = kind.partition(":")
        match kind:
            case "":
                self._changes.are_unknown = True
            case "model":
                self._changes.models.add(id)
            case "modelversion":
                self._changes.versions.add(id)
            case "experiment":
                self._changes.experiments.add(id)
            case "trial":
                self._changes.trials.add(id)
            case "run_left":
                self._changes.left.setdefault(int(project), set()).add(id)
            case _:
                return
        self._wake.set()


def _nothing() -> None:
    """Nobody watches."""
