"""Frames of experiments, trials and the runs of projects, read together by their ids."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from determined_master.domain.states import shown_state
from determined_master.store.updates import live as rows

if TYPE_CHECKING:
    from determined_master.pools.live import LiveAllocations
    from determined_master.records.live import LiveRun
    from determined_master.services.updates.live.channel import Channel
    from determined_master.services.updates.live.channels import Channels
    from determined_master.services.updates.live.news import Changes, LiveNews
    from determined_master.services.updates.live.views import LiveViews
    from determined_master.store.db import Database

TRIALS_AT_ONCE = 100
RUNS_AT_ONCE = 200


class TrialTopics:
    """Topics `exp`, `run` and `project`."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        news: LiveNews,
        live: LiveAllocations,
        views: LiveViews,
    ) -> None:
        self._db = db
        self._channels = channels
        self._news = news
        self._live = live
        self._views = views

    async def flush(self, changes: Changes) -> None:
        """Publish what has changed."""
        trials = await self._trials(changes)
        await self._flush_experiments(changes, trials)
        if self._channels.of_kind("project"):
            await self._flush_runs(changes)

    async def _trials(self, changes: Changes) -> dict[int, tuple[int, bytes] | None]:
        """Changed trials that are watched, by themselves or in their experiment."""
        found: dict[int, tuple[int, bytes] | None] = {}
        for some in _pieces(list(filter(self._is_watched, changes.trials)), TRIALS_AT_ONCE):
            shown = await self._views.trials(some)
            for trial_id in some:
                found[trial_id] = seen = shown.get(trial_id)
                if seen is not None:
                    self._news.know(trial_id, seen[0])
                for channel in self._channels.of("run", trial_id):
                    if seen is None:
                        channel.publish("delete", b'{"id":%d}' % trial_id)
                    else:
                        channel.publish("upsert", b'{"trial":%s}' % seen[1])
            await asyncio.sleep(0)
        return found

    def _is_watched(self, trial_id: int) -> bool:
        if self._channels.of("run", trial_id):
            return True
        experiment_id = self._news.experiment_of(trial_id)
        if experiment_id is None:
            return bool(self._channels.of_kind("exp"))
        return bool(self._channels.of("exp", experiment_id))

    async def _flush_experiments(
        self, changes: Changes, trials: Mapping[int, tuple[int, bytes] | None]
    ) -> None:
        by_experiment: dict[int, list[bytes]] = {i: [] for i in changes.experiments}
        for seen in trials.values():
            if seen is not None:
                by_experiment.setdefault(seen[0], []).append(seen[1])
        for experiment_id, changed in by_experiment.items():
            watching = self._channels.of("exp", experiment_id)
            if not watching:
                continue
            experiment = await self._views.experiment(experiment_id)
            for channel in watching:
                if experiment is None:
                    channel.publish("delete", b'{"id":%d}' % experiment_id)
                else:
                    channel.publish("upsert", experiment_data(experiment, changed))

    async def _flush_runs(self, changes: Changes) -> None:
        projects = self._channels.of_kind("project")
        places: Mapping[int, int] = {}
        if changes.left:
            async with self._db.acquire() as conn:
                places = await rows.list_project_workspaces(conn, changes.left)
        # First, because a run that was moved may be in a project of the same viewers.
        for channel in projects:
            gone = _gone(channel, changes.left, places)
            if gone:
                channel.publish("upsert", runs_data((), gone))
        for some in _pieces(sorted(changes.trials), RUNS_AT_ONCE):
            async with self._db.acquire() as conn:
                found = await rows.list_runs(conn, some)
            shown = [(row, self._views.run(row, self._state(row))) for row in found]
            for channel in projects:
                seen = [text for row, text in shown if _shows(channel, row)]
                if seen:
                    channel.publish("upsert", runs_data(seen))
            await asyncio.sleep(0)

    def _state(self, row: LiveRun) -> str:
        return shown_state(row.state, self._live.states_of_trial(row.id))


def experiment_data(experiment: bytes, trials: Iterable[bytes]) -> bytes:
    """Data of a frame of an experiment."""
    return b'{"experiment":%s,"trials":[%s]}' % (experiment, b",".join(trials))


def runs_data(runs: Iterable[bytes], removed: Iterable[int] = ()) -> bytes:
    """Data of a frame of a project's runs."""
    ids = b",".join(b"%d" % i for i in removed)
    return b'{"runs":[%s],"removed":[%s]}' % (b",".join(runs), ids)


def _shows(channel: Channel, row: LiveRun) -> bool:
    project_id, workspaces = channel.topic.id, channel.audience
    if project_id:
        return row.project_id == project_id
    return not isinstance(workspaces, frozenset) or row.workspace_id in workspaces


def _gone(
    channel: Channel, left: Mapping[int, Collection[int]], places: Mapping[int, int]
) -> list[int]:
    """Runs that a project, or the projects of an audience, have no longer."""
    if channel.topic.id:
        return sorted(left.get(channel.topic.id, ()))
    workspaces = channel.audience
    return sorted(
        run_id
        for project_id, ids in left.items()
        if not isinstance(workspaces, frozenset) or places.get(project_id) in workspaces
        for run_id in ids
    )


def _pieces(ids: Sequence[int], size: int) -> Iterable[Sequence[int]]:
    return (ids[start : start + size] for start in range(0, len(ids), size))
