"""Frames of queues, agents, tasks, models, and of a user's own things."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import clock
from determined_master.store.updates import live as rows

if TYPE_CHECKING:
    from determined_master.ports.agents import AgentSnapshot
    from determined_master.records.live import LiveTask
    from determined_master.services.updates.live.channel import Channel
    from determined_master.services.updates.live.channels import Channels
    from determined_master.services.updates.live.news import Changes, LiveNews
    from determined_master.services.updates.live.views import LiveViews
    from determined_master.store.db import Database

QUEUE_EVERY_S = 1.0
MAX_AGENTS = 50
"""Agents that are sent in one frame; of more changed ones the viewers are only told."""
AGENTS_AT_ONCE = 10
MAX_STATES = 20_000
CHANGED = b'{"changed":true}'


class ClusterTopics:
    """Topics `queue`, `agents`, `tasks`, `models` and `me`."""

    def __init__(
        self,
        db: Database,
        channels: Channels,
        news: LiveNews,
        agents: Callable[[], Sequence[AgentSnapshot]],
        views: LiveViews,
    ) -> None:
        self._db = db
        self._channels = channels
        self._news = news
        self._agents = agents
        self._views = views
        self._seen: dict[str, AgentSnapshot] | None = None
        """Agents as they were sent; None while nobody watches them."""
        self._states: OrderedDict[str, str] = OrderedDict()
        """Of experiments and tasks, as their owners were sent them."""

    def note_agents(self) -> None:
        """Begin to compare: who subscribes now is sent what changes from now on."""
        if self._seen is None:
            self._seen = {agent.id: agent for agent in self._agents()}

    async def flush(self, changes: Changes) -> None:
        """Publish what has changed."""
        self._flush_queues(changes)
        await self._flush_agents(changes)
        own = self._channels.of_kind("me")
        if changes.tasks and (own or self._channels.of_kind("tasks")):
            async with self._db.acquire() as conn:
                tasks = await rows.list_tasks(conn, changes.tasks)
            self._flush_tasks(tasks)
            self._flush_own_tasks(tasks)
        if (changes.models or changes.versions) and self._channels.of_kind("models"):
            await self._flush_models(changes)
        if changes.states and own:
            await self._flush_own_experiments(changes.states)
        if changes.permissions:
            self._flush_permissions(changes)

    def _flush_queues(self, changes: Changes) -> None:
        for pool in changes.pools:
            for channel in self._channels.of("queue", pool):
                if channel.published_s + QUEUE_EVERY_S > clock.monotonic_s():
                    self._news.pool(pool)  # its turn comes later
                else:
                    channel.publish("upsert", CHANGED)

    async def _flush_agents(self, changes: Changes) -> None:
        watching = self._channels.of_kind("agents")
        if not watching:
            self._seen = None
            return
        before, now = self._seen, {agent.id: agent for agent in self._agents()}
        self._seen = now
        if before is None:
            return
        changed = [a for i, a in now.items() if i in changes.agents or before.get(i) != a]
        removed = sorted(before.keys() - now.keys())
        if not changed and not removed:
            return
        data = CHANGED
        if len(changed) <= MAX_AGENTS:
            shown = await self._shown(changed)
            gone = msgspec.json.encode(removed)
            data = b'{"agents":[%s],"removed":%s}' % (b",".join(shown), gone)
        for channel in watching:
            channel.publish("upsert", data if channel.audience is None else CHANGED)

    async def _shown(self, agents: Sequence[AgentSnapshot]) -> list[bytes]:
        shown = []
        for number, agent in enumerate(agents, start=1):
            shown.append(self._views.agent(agent))
            if number % AGENTS_AT_ONCE == 0:
                await asyncio.sleep(0)
        return shown

    def _flush_tasks(self, tasks: Sequence[LiveTask]) -> None:
        shown = [(row, self._views.task(row)) for row in tasks]
        for channel in self._channels.of_kind("tasks"):
            seen = [text for row, text in shown if _is_in(channel, row.workspace_id)]
            if seen:
                channel.publish("upsert", b'{"tasks":[%s]}' % b",".join(seen))

    async def _flush_models(self, changes: Changes) -> None:
        async with self._db.acquire() as conn:
            found = await rows.list_models(conn, changes.models, changes.versions)
        for channel in self._channels.of_kind("models"):
            # Viewers of all workspaces get the ids of deleted models; others get an empty list.
            ids = {i for i, workspace_id in found.items() if _is_in(channel, workspace_id)}
            if channel.audience is None:
                ids |= changes.models
            is_gone = bool(changes.models - found.keys())
            if ids or is_gone:
                channel.publish("upsert", msgspec.json.encode({"changed": sorted(ids)}))

    async def _flush_own_experiments(self, states: Mapping[int, str]) -> None:
        changed = [i for i, state in states.items() if self._is_news(f"experiment {i}", state)]
        if not changed:
            return
        async with self._db.acquire() as conn:
            found = await rows.list_experiments(conn, changed)
        for row in found:
            event = {
                "event": "experiment_state",
                "experimentId": row.id,
                "name": row.name,
                "state": f"STATE_{states[row.id]}",
            }
            self._publish_own(row.user_id, event)

    def _flush_own_tasks(self, tasks: Sequence[LiveTask]) -> None:
        for row in tasks:
            if self._is_news(f"task {row.id}", row.state):
                event = {
                    "event": "task_state",
                    "taskId": row.id,
                    "type": f"TASK_TYPE_{row.type}",
                    "state": row.state,
                }
                self._publish_own(row.user_id, event)

    def _flush_permissions(self, changes: Changes) -> None:
        for channel in self._channels.of_kind("me"):
            if None in changes.permissions or channel.audience in changes.permissions:
                channel.publish("upsert", msgspec.json.encode({"event": "permissions"}))

    def _publish_own(self, user_id: int, event: Mapping[str, Any]) -> None:
        for channel in self._channels.of_kind("me"):
            if channel.audience == user_id:
                channel.publish("upsert", msgspec.json.encode(event))

    def _is_news(self, name: str, state: str) -> bool:
        if self._states.get(name) == state:
            return False
        self._states[name] = state
        if len(self._states) > MAX_STATES:
            self._states.popitem(last=False)
        return True


def _is_in(channel: Channel, workspace_id: int | None) -> bool:
    workspaces = channel.audience
    return not isinstance(workspaces, frozenset) or workspace_id in workspaces
