"""Permissions of topics of the live channel, and the audiences that share frames."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.records.access import Thing
from determined_master.services.access.guard import Claim

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.updates.live import Topic, TopicKind
    from determined_master.services.access.guard import Guard
    from determined_master.services.updates.live.channel import Audience

_THINGS: Mapping[TopicKind, Thing] = {
    "exp": "experiment",
    "run": "trial",
    "metrics": "trial",
    "logs": "task",
    "project": "project",
}
_LISTS: Mapping[TopicKind, access.ThingKind] = {
    "project": "experiment",
    "tasks": "task",
    "models": "model",
    "agents": "task",
}
"""Topics whose frames depend on the workspaces in which their viewers see things of a kind."""


class Admission:
    """The same rules as those of the routes that show the topics' things."""

    def __init__(self, guard: Guard, pool_names: Callable[[], Collection[str]]) -> None:
        self._guard = guard
        self._pool_names = pool_names

    async def admit(self, caller: Caller, topic: Topic) -> Audience:
        """The audience that a caller belongs to.

        Raises:
            NotFound: the topic's thing is not there, or the caller may not see it.
            PermissionDenied: the caller sees the project, and not the runs in it.
        """
        claim = _claim(topic)
        if claim is not None:
            await self._guard.check(caller, [claim])
        elif topic.kind == "queue" and topic.key not in self._pool_names():
            raise NotFound(f"resource pool '{topic.key}' not found: see GET /resource-pools")
        return audience_of(caller, topic)

    async def lost(self, caller: Caller, topics: Iterable[Topic]) -> set[str]:
        """Names of those topics that the caller may not have any more."""
        if caller.rights is None or caller.is_admin:
            return set()
        by_thing: dict[Thing, dict[str, list[str]]] = {}
        gone: set[str] = set()
        for topic in topics:
            claim = _claim(topic)
            if claim is None:
                continue
            if claim.kind is not None and not await self._guard.can(caller, claim):
                gone.add(topic.name)
            by_thing.setdefault(claim.thing, {}).setdefault(claim.names[0], []).append(topic.name)
        for thing, names in by_thing.items():
            seen = await self._guard.seen(caller, thing, list(names))
            gone.update(t for name in names.keys() - seen for t in names[name])
        return gone


def audience_of(caller: Caller, topic: Topic) -> Audience:
    """Callers of one audience are sent the same frames."""
    if topic.kind == "me":
        return caller.user_id
    kind = _LISTS.get(topic.kind)
    if kind is None or (topic.kind == "project" and topic.id):
        return None
    workspaces = access.visible(caller, kind)
    return None if workspaces is None else frozenset(workspaces)


def _claim(topic: Topic) -> Claim | None:
    thing = _THINGS.get(topic.kind)
    if thing is None or (topic.kind == "project" and not topic.id):
        return None
    if thing == "project":
        return Claim(thing, [str(topic.id)], "read", "experiment")
    return Claim(thing, [topic.key or str(topic.id)])
