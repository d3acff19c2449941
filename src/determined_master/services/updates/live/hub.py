"""The live channel: viewers subscribe to topics, and one loop sends all of them what changes.

Each changed thing is read once for all of its viewers, at most four times a second. The loop
rests eight times as long as it has worked, so viewers cost at most a ninth of the master's time.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.domain.errors import DetError, ResourceExhausted, Unavailable
from determined_master.domain.updates.live import Subscribe, Topic, read_topic
from determined_master.domain.updates.log_position import read_position
from determined_master.services.failures import UNANSWERED, error_of
from determined_master.services.updates.live.admission import Admission, audience_of
from determined_master.services.updates.live.channels import Channels
from determined_master.services.updates.live.cluster_topics import ClusterTopics
from determined_master.services.updates.live.columns import empty_columns
from determined_master.services.updates.live.connection import LiveConnection
from determined_master.services.updates.live.frames import refusal
from determined_master.services.updates.live.log_channels import LogChannels
from determined_master.services.updates.live.trial_topics import (
    TrialTopics,
    experiment_data,
    runs_data,
)
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.pools.live import LiveAllocations
    from determined_master.ports.agents import AgentSnapshot
    from determined_master.services.access.guard import Guard
    from determined_master.services.updates.changes import EntityChanges
    from determined_master.services.updates.live.log_channel import LineSource
    from determined_master.services.updates.live.news import LiveNews
    from determined_master.services.updates.live.views import LiveViews
    from determined_master.store.db import Database

log = logging.getLogger(__name__)

MAX_CONNECTIONS = 2000
MAX_CONNECTIONS_A_USER = 256
MAX_TOPICS = 64
"""Of one connection."""
TICK_S = 0.25
MAX_TICK_S = 1.0
REST = 8
"""How many times as long as it has worked the loop rests."""
BYTES_A_S = 16 * 2**20
"""Frames of that size, to all viewers together, are sent in a second, unless ticks are longest."""
VIEWERS_AT_ONCE = 20
LOOK_S = 1.0
"""The longest time between two looks at agents and at topics that nobody watches."""
START_S = 5.0
READ_AGAIN = 3

_FIRST = {
    "project": runs_data(()),
    "agents": b'{"agents":[],"removed":[]}',
    "tasks": b'{"tasks":[]}',
    "models": b'{"changed":[]}',
    "queue": b'{"changed":false}',
    "me": b'{"event":"subscribed"}',
}
"""Data of the frame that confirms a subscription."""


class LiveUpdates:
    """All viewers and their topics."""

    def __init__(
        self,
        db: Database,
        guard: Guard,
        changes: EntityChanges,
        news: LiveNews,
        lines: LineSource,
        cluster: ClusterFacts,
        views: LiveViews,
    ) -> None:
        self._changes = changes
        self._news = news
        self._admission = Admission(guard, cluster.pool_names)
        self._channels = Channels(news)
        self._trials = TrialTopics(db, self._channels, news, cluster.live, views)
        self._cluster = ClusterTopics(db, self._channels, news, cluster.agents, views)
        self._logs = LogChannels(lines, news.watched_logs, views)
        self._views = views
        self._viewers: set[LiveConnection] = set()
        self._of_user: Counter[int] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._is_listening = asyncio.Event()
        news.on_permissions = self._recheck_all

    @property
    def connections(self) -> int:
        """How many are open."""
        return len(self._viewers)

    def check_room(self, user_id: int, username: str) -> None:
        """Check that a user may open another connection.

        Raises:
            ResourceExhausted: the user, or all users together, have too many.
        """
        if self._of_user[user_id] >= MAX_CONNECTIONS_A_USER:
            raise ResourceExhausted(
                f"user {username} has {MAX_CONNECTIONS_A_USER} live connections, which is "
                "the most: close some pages"
            )
        if len(self._viewers) >= MAX_CONNECTIONS:
            raise ResourceExhausted("too many live connections are open: try again later")

    def open(self, caller: Caller) -> LiveConnection:
        """A connection; `close` ends it. Raises ResourceExhausted: as `check_room`."""
        self.check_room(caller.user_id, caller.username)
        viewer = LiveConnection(caller)
        self._viewers.add(viewer)
        self._of_user[caller.user_id] += 1
        return viewer

    def close(self, viewer: LiveConnection) -> None:
        """End a connection and its topics."""
        for topic in (*viewer.topics, *viewer.logs):
            self.unsubscribe(viewer, topic)
        self._viewers.discard(viewer)
        self._of_user[viewer.caller.user_id] -= 1
        if not self._of_user[viewer.caller.user_id]:
            del self._of_user[viewer.caller.user_id]

    def stop(self) -> None:
        """Listen no longer, at the master's end."""
        if self._task is not None:
            self._task.cancel()

    async def subscribe(self, viewer: LiveConnection, wanted: Subscribe) -> None:
        """Send a viewer a topic; a refusal is a frame too."""
        try:
            topic = read_topic(wanted.topic)
            self.unsubscribe(viewer, topic.name)
            if len(viewer.topics) + len(viewer.logs) >= MAX_TOPICS:
                raise ResourceExhausted(
                    f"a connection may have at most {MAX_TOPICS} topics: unsubscribe from "
                    "some, or open another connection"
                )
            if topic.kind == "logs":
                await self._subscribe_to_log(viewer, topic, wanted.cursor)
            else:
                await self._subscribe(viewer, topic, wanted.cursor)
        except DetError as error:
            self._refuse(viewer, wanted.topic, error)
        except UNANSWERED as error:
            known = error_of(error, method="SUBSCRIBE", path=wanted.topic[:100])
            self._refuse(viewer, wanted.topic, known)

    def unsubscribe(self, viewer: LiveConnection, name: str) -> None:
        """Send a viewer a topic no longer; one that it does not have changes nothing."""
        channel = viewer.topics.pop(name, None)
        if channel is not None:
            self._channels.leave(channel, viewer)
        viewer.end_log(name)
        viewer.forget(name)

    async def recheck(self, viewer: LiveConnection, caller: Caller) -> None:
        """End the topics that a viewer's user may not have any more."""
        viewer.caller = caller
        topics = [channel.topic for channel in viewer.topics.values()]
        topics += [read_topic(name) for name in viewer.logs]
        for name in await self._admission.lost(caller, topics):
            self.unsubscribe(viewer, name)
            viewer.push(refusal(name, 404, f"{name} not found: no role of yours shows it"))
        for name, channel in tuple(viewer.topics.items()):
            audience = audience_of(caller, channel.topic)
            if audience != channel.audience:
                self._channels.leave(channel, viewer)
                moved = viewer.topics[name] = self._channels.open(channel.topic, audience)
                moved.viewers.add(viewer)
                viewer.push(moved.reset())

    async def _subscribe(self, viewer: LiveConnection, topic: Topic, cursor: str) -> None:
        audience = await self._admission.admit(viewer.caller, topic)
        channel = self._channels.open(topic, audience)
        await self._start()
        current = b""
        for _ in range(READ_AGAIN):
            seq = channel.seq
            current = await self._current(topic) if not cursor else self._empty(topic)
            if channel.seq == seq:
                break
        channel = self._channels.open(topic, audience)  # it may have been closed since
        if topic.kind == "agents":
            self._cluster.note_agents()
        for made in channel.opening(cursor, current):
            viewer.push(made)
        channel.viewers.add(viewer)
        viewer.topics[topic.name] = channel

    async def _subscribe_to_log(self, viewer: LiveConnection, topic: Topic, cursor: str) -> None:
        position = read_position(cursor) if cursor else None
        await self._admission.admit(viewer.caller, topic)
        self._logs.join(viewer, topic, position)

    async def _current(self, topic: Topic) -> bytes:
        """Data of the first frame."""
        if topic.kind == "exp":
            found = await self._views.experiment(topic.id)
            if found is not None:
                return experiment_data(found, ())
        if topic.kind == "run":
            trial = (await self._views.trials([topic.id])).get(topic.id)
            if trial is not None:
                return b'{"trial":%s}' % trial[1]
        return self._empty(topic)

    @staticmethod
    def _empty(topic: Topic) -> bytes:
        if topic.kind == "metrics":
            return empty_columns(topic.id)
        return _FIRST.get(topic.kind, b"{}")

    def _refuse(self, viewer: LiveConnection, name: str, error: DetError) -> None:
        viewer.push(refusal(name[:100], self._views.status(error), error.text))

    def _recheck_all(self) -> None:
        for viewer in self._viewers:
            viewer.recheck.set()

    async def _start(self) -> None:
        """Wait until the changes of rows are heard of."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())
        try:
            async with asyncio.timeout(START_S):
                await self._is_listening.wait()
        except TimeoutError:
            raise Unavailable(
                "the database does not answer: subscribe again in a moment"
            ) from None

    async def _run(self) -> None:
        """Listen and send while there are topics."""
        stop = await self._changes.listen(self._news.on_entity)
        self._news.take()
        self._is_listening.set()
        try:
            while self._channels:
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_S):
                        await self._news.wait()
                began_s = clock.monotonic_s()
                await self._flush()
                worked_s = clock.monotonic_s() - began_s
                sending_s = self._take_offered() / BYTES_A_S
                await self._deliver()
                self._channels.sweep()
                rest_s = max(TICK_S, REST * worked_s, sending_s)
                await asyncio.sleep(min(rest_s, MAX_TICK_S))
        finally:
            stop()
            self._is_listening.clear()
            self._task = None

    async def _flush(self) -> None:
        changes = self._news.take()
        self._flush_reports()
        if changes.are_unknown:
            self._reset()
            return
        try:
            await self._trials.flush(changes)
            await self._cluster.flush(changes)
        except DATABASE_ERRORS as error:
            log.info("live topics are reset", extra={"error": str(error)})
            self._reset()
        except Exception:
            log.exception("live topics are reset")
            self._reset()

    async def _deliver(self) -> None:
        """Have the viewers' frames sent, some viewers at a time: nobody waits for all of them."""
        woken = 0
        for viewer in tuple(self._viewers):
            woken += viewer.deliver()
            if woken == VIEWERS_AT_ONCE:
                woken = 0
                await asyncio.sleep(0)

    def _take_offered(self) -> int:
        size = 0
        for channel in self._channels:
            size += channel.offered_bytes
            channel.offered_bytes = 0
        return size

    def _flush_reports(self) -> None:
        for trial_id, columns in tuple(self._news.reports.items()):
            is_whole = not columns.are_too_many
            for data in columns.take(trial_id):
                for channel in self._channels.of("metrics", trial_id):
                    if is_whole:
                        channel.publish("append", data)
            if not is_whole:
                for channel in self._channels.of("metrics", trial_id):
                    channel.publish("reset")

    def _reset(self) -> None:
        for channel in self._channels:
            channel.publish("reset")


@dataclass(frozen=True)
class ClusterFacts:
    """What the channel asks of the cluster."""

    agents: Callable[[], Sequence[AgentSnapshot]]
    pool_names: Callable[[], Collection[str]]
    live: LiveAllocations
