"""Open effects: read from their table, and handed out in order for each aggregate."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Any

from determined_master.engine.applying.batch import OpenEffect, columns
from determined_master.engine.applying.transaction import Term
from determined_master.engine.effects.executor import EffectExecutor
from determined_master.engine.ids import EffectId, Key
from determined_master.engine.kind import AnyKind
from determined_master.engine.turns import Owner
from determined_master.store.db import Database

_log = logging.getLogger(__name__)
_LaneKey = tuple[str, str, str]
"""Kind and id of an aggregate, and one of its lanes."""
_PAGE = 1000
_GROUP = 64
"""Most effects of one aggregate that are carried out at a time."""

_SETTLED_AFTER = timedelta(minutes=5)
"""An older effect is in a lane, or was missed."""

_CLAIM = """
    WITH page AS (
        SELECT kind, id, version, n
          FROM outbox
         WHERE (kind, id, version, n) > ($1, $2, $3, $4) AND claimed_epoch < $5
         ORDER BY kind, id, version, n
         LIMIT $6
           FOR UPDATE
    )
    UPDATE outbox o
       SET claimed_epoch = $5
      FROM page
     WHERE o.kind = page.kind AND o.id = page.id AND o.version = page.version AND o.n = page.n
    RETURNING o.kind, o.id, o.version, o.n, o.effect, o.ordered_at, o.due_at, o.attempts
"""
_LIST_OLD = """
    SELECT kind, id, version, n, effect, ordered_at, due_at, attempts
      FROM outbox
     WHERE (kind, id, version, n) > ($1, $2, $3, $4) AND ordered_at < $5
     ORDER BY kind, id, version, n
     LIMIT $6
"""
_LIST_STATES = """
    SELECT a.kind, a.id, a.state
      FROM unnest($1::text[], $2::text[]) AS w (kind, id)
      JOIN aggregates a ON a.kind = w.kind AND a.id = w.id
"""
_LIST_OF_EVENTS = """
    SELECT o.kind, o.id, o.version, o.n, o.effect, o.ordered_at, o.due_at, o.attempts
      FROM unnest($1::text[], $2::text[], $3::bigint[]) AS w (kind, id, version)
      JOIN outbox o ON o.kind = w.kind AND o.id = w.id AND o.version = w.version
     ORDER BY o.kind, o.id, o.version, o.n
"""


class Outbox:
    """The effects of one term in memory, in the lanes of the aggregates that have any."""

    def __init__(self, term: Term, kinds: dict[str, AnyKind], executor: EffectExecutor) -> None:
        self._term = term
        self._kinds = kinds
        self._executor = executor
        self._lanes: dict[_LaneKey, deque[OpenEffect]] = {}
        self._held: list[OpenEffect] | None = []
        """Effects ordered while older ones are still being read; they follow those."""
        self._start_lane: Callable[[_LaneKey], None] | None = None
        self._db: Database | None = None

    def take(self, effects: Iterable[OpenEffect]) -> None:
        """Add effects behind the earlier ones of their aggregates."""
        if self._held is not None:
            self._held.extend(effects)
        else:
            self._add(effects)

    def find_oldest_at(self) -> datetime | None:
        """When the oldest effect was ordered that could be carried out now; None without any.

        A deferred effect does not count, nor does what waits behind it. Cost: O(1) a lane.
        """
        heads = (lane[0] for lane in self._lanes.values() if lane)
        ready = (e.ordered_at for e in heads if not self._executor.is_deferred(e.id))
        return min(ready, default=None)

    async def reload(self, events: Iterable[tuple[str, str, int]]) -> None:
        """Add the open effects of events (kind, id, version) whose commit was not confirmed.

        The caller ensures that no later event of these aggregates is applied in the meantime.
        """
        assert self._db is not None
        rows = await self._db.fetch(_LIST_OF_EVENTS, *columns(sorted(events), 3))
        self.take(await self._effects_of(rows))

    async def run(self, db: Database) -> None:
        """Claim open effects and hand them out until cancelled."""
        self._db = db
        self._executor.db = db
        async with asyncio.TaskGroup() as lanes:
            self._start_lane = lambda key: _discard(lanes.create_task(self._run_lane(key)))
            await self._claim(db)
            held, self._held = self._held or [], None
            self._add(held)
            await asyncio.Event().wait()

    async def sweep(self) -> None:
        """Add old effects that no lane has, for example after rows were restored by hand."""
        if self._db is None or self._held is not None:
            return
        ours = set(self._lanes)
        before = self._term.now() - _SETTLED_AFTER
        after: tuple[str, str, int, int] = ("", "", 0, 0)
        while True:
            rows = await self._db.fetch(_LIST_OLD, *after, before, _PAGE)
            open_effects = await self._effects_of(rows)
            missed = [effect for effect in open_effects if _lane_key(effect) not in ours]
            unclaimed = [effect for effect in missed if _lane_key(effect) not in self._lanes]
            self._add(unclaimed)
            if unclaimed:
                _log.warning("took up effects that were missed", extra={"effects": len(unclaimed)})
            if len(rows) < _PAGE:
                return
            after = tuple(rows[-1])[:4]

    async def _claim(self, db: Database) -> None:
        """Hand out the effects of earlier terms, page by page.

        Effects of this term have its epoch already and are never read here.
        """
        after: tuple[str, str, int, int] = ("", "", 0, 0)
        while True:
            rows = await db.fetch(_CLAIM, *after, self._term.epoch, _PAGE)
            rows.sort(key=lambda row: tuple(row)[:4])
            self._add(await self._effects_of(rows))
            if len(rows) < _PAGE:
                return
            after = tuple(rows[-1])[:4]

    def _add(self, effects: Iterable[OpenEffect]) -> None:
        for effect in effects:
            key = _lane_key(effect)
            lane = self._lanes.get(key)
            if lane is not None:
                if effect.id > lane[-1].id:  # otherwise `reload` was faster
                    lane.append(effect)
                continue
            self._lanes[key] = deque((effect,))
            if self._start_lane is not None:
                self._start_lane(key)

    async def _effects_of(self, rows: Iterable[Any]) -> list[OpenEffect]:
        """The effects of known kinds, with their owners."""
        handled = [row for row in rows if row["kind"] in self._kinds]
        owners = await self._owners({(row["kind"], row["id"]) for row in handled})
        return [self._open_effect(row, owners) for row in handled]

    async def _owners(self, keys: set[Key]) -> dict[Key, Owner]:
        """Whose work the effects of aggregates are; the aggregates' states tell it."""
        if not keys:
            return {}
        assert self._db is not None
        rows = await self._db.fetch(_LIST_STATES, *columns(sorted(keys), 2))
        owners = {}
        for kind_name, id, text in rows:
            kind = self._kinds[kind_name]
            try:
                owners[kind_name, id] = kind.owner_of(id, kind.codec.stored(text))
            except ValueError as error:
                _log.error("a state cannot be read", extra={"id": id, "error": str(error)})
        return owners

    def _open_effect(self, row: Any, owners: Mapping[Key, Owner]) -> OpenEffect:
        id = EffectId(row["kind"], row["id"], row["version"], row["n"])
        effect = self._decode(id, row["effect"])
        key = id.kind, id.aggregate
        owner = owners.get(key) or self._kinds[id.kind].owner_of(id.aggregate, None)
        return OpenEffect(id, effect, row["ordered_at"], row["attempts"], row["due_at"], owner)

    def _decode(self, id: EffectId, text: str) -> Any:
        try:
            return self._kinds[id.kind].codec.effect(text)
        except ValueError as error:
            _log.error("an effect cannot be read", extra={"effect": str(id), "error": str(error)})
            return None

    async def _run_lane(self, key: _LaneKey) -> None:
        lane = self._lanes[key]
        while lane:
            group = _concurrent(lane)
            await self._executor.carry_out(group)
            for _ in group:
                lane.popleft()
        del self._lanes[key]


def _concurrent(lane: deque[OpenEffect]) -> Sequence[OpenEffect]:
    """The first effect, and those behind it that need not wait for it or for each other."""
    group: dict[str | None, OpenEffect] = {}
    for open_effect in islice(lane, _GROUP):
        about = None if open_effect.effect is None else open_effect.effect.about
        if group and (about is None or about in group or None in group):
            break
        group[about] = open_effect
    return list(group.values())


def _lane_key(open_effect: OpenEffect) -> _LaneKey:
    effect = open_effect.effect
    lane = "" if effect is None else effect.lane
    return open_effect.id.kind, open_effect.id.aggregate, lane


def _discard(_: object) -> None:
    """The task's group awaits it."""
