"""All topics that are watched, or were a moment ago."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from determined_master import clock, entropy
from determined_master.services.updates.live.channel import LINGER_S, Channel
from determined_master.services.updates.live.columns import ReportColumns

if TYPE_CHECKING:
    from determined_master.domain.updates.live import Topic, TopicKind
    from determined_master.services.updates.live.channel import Audience
    from determined_master.services.updates.live.connection import LiveConnection
    from determined_master.services.updates.live.news import LiveNews


class Channels:
    """Finds the channels of a changed thing in one step."""

    def __init__(self, news: LiveNews) -> None:
        self._news = news
        self._epoch = entropy.token()[:8]
        self._by_thing: dict[tuple[TopicKind, int | str], list[Channel]] = {}
        self._of_kind: dict[TopicKind, set[Channel]] = {}

    def __bool__(self) -> bool:
        return bool(self._by_thing)

    def __iter__(self) -> Iterator[Channel]:
        return (channel for some in self._by_thing.values() for channel in some)

    def of(self, kind: TopicKind, thing: int | str = 0) -> list[Channel]:
        """The channels of one thing: one for each audience and spelling of its name."""
        return self._by_thing.get((kind, thing), [])

    def of_kind(self, kind: TopicKind) -> set[Channel]:
        """The channels of all things of a kind."""
        return self._of_kind.get(kind, set())

    def open(self, topic: Topic, audience: Audience) -> Channel:
        """The channel of a topic, which is kept up to date from now on."""
        known = self._by_thing.setdefault(_thing(topic), [])
        for channel in known:
            if channel.topic == topic and channel.audience == audience:
                return channel
        channel = Channel(topic, audience, self._epoch)
        known.append(channel)
        self._of_kind.setdefault(topic.kind, set()).add(channel)
        if topic.kind == "metrics":
            self._news.reports.setdefault(topic.id, ReportColumns())
        self._news.is_watched = True
        return channel

    def leave(self, channel: Channel, viewer: LiveConnection) -> None:
        """A viewer leaves; the channel stays a while."""
        channel.viewers.discard(viewer)
        channel.unwatched_since_s = clock.monotonic_s()

    def sweep(self, linger_s: float = LINGER_S) -> None:
        """Close those that nobody has watched for a while."""
        now_s = clock.monotonic_s()
        for channel in list(self):
            if not channel.viewers and channel.unwatched_since_s < now_s - linger_s:
                self.close(channel)

    def close(self, channel: Channel) -> None:
        """Keep a channel up to date no longer."""
        thing = _thing(channel.topic)
        known = self._by_thing.get(thing, [])
        if channel not in known:
            return
        known.remove(channel)
        self._of_kind[channel.topic.kind].discard(channel)
        if not known:
            del self._by_thing[thing]
            if channel.topic.kind == "metrics":
                self._news.reports.pop(channel.topic.id, None)
        self._news.is_watched = bool(self._by_thing)


def _thing(topic: Topic) -> tuple[TopicKind, int | str]:
    return topic.kind, topic.key or topic.id
