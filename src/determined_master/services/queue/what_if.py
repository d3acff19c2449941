"""What-if: the recorded queue of a pool, simulated under other rules or with other agents."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.access import rules as access
from determined_master.domain.errors import (
    DetError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    ResourceExhausted,
)
from determined_master.domain.schedule.frames import Frame, FrameHistory
from determined_master.domain.schedule.simulation.outcomes import (
    PolicyOutcome,
    decisions_since,
    outcome_of,
    parse_agents,
    parse_policy,
    recorded_outcome,
    shape_of,
)
from determined_master.domain.schedule.simulation.simulate import agents_of, simulate
from determined_master.domain.schedule.simulation.workload import Recorded, record_of
from determined_master.domain.schedule.view import AgentView, PoolView, Rules
from determined_master.pools.recorder import read_frame
from determined_master.store.queue import plan_frames
from determined_master.store.queue.plan_frames import FrameRow

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.cluster.pools import Pools
    from determined_master.store.db import Database

DEFAULT_HOURS, MAX_HOURS = 24, 168
MAX_VARIANTS = 6
MAX_TASKS = 20_000
MAX_AGENTS, MAX_SLOTS = 2000, 128
MAX_TEXT = 200
READ_S = 10.0
VARIANT_S = 8.0
"""How long the record is read, and each variant is simulated."""


class Variant(msgspec.Struct, frozen=True):
    """Other rules and agents, as `determined-master simulate` spells them; empty: the recorded."""

    policy: str
    agents: str


class VariantOutcome(msgspec.Struct, frozen=True):
    """One variant; `result` is None if it has an error."""

    policy: str
    agents: str
    result: PolicyOutcome | None = None
    error: str = ""


class Comparison(msgspec.Struct, frozen=True):
    """The record and the variants."""

    pool: str
    since: datetime
    until: datetime
    tasks: int
    unfinished: int
    agents: str
    outcomes: Sequence[VariantOutcome]


class _TookTooLong(Exception):
    """A simulation reached its end of time."""


class WhatIf:
    """Simulations of all pools, in a thread, one request at a time."""

    def __init__(self, db: Database, pools: Pools) -> None:
        self._db = db
        self._pools = pools
        self._is_busy = False

    async def compare(
        self, caller: Caller, pool: str, hours: int, variants: Sequence[Variant]
    ) -> Comparison:
        """The outcomes of the record and of each variant.

        Raises:
            PermissionDenied: without roles the caller is no admin; with roles a permission lacks.
            NotFound: there is no such pool, or no record of that time.
            InvalidArgument: a value is invalid, or the record has too many tasks.
            ResourceExhausted: another comparison is running.
        """
        access.may(caller, "read", "usage")
        if caller.rights is None and not caller.is_admin:
            raise PermissionDenied("only admins may simulate a pool's queue")
        name = self._pools.named(pool)
        _check(hours, variants)
        if self._is_busy:
            raise ResourceExhausted(
                "another simulation is running: repeat the request when it is done"
            )
        self._is_busy = True
        try:
            until = clock.now()
            since = until - timedelta(hours=hours or DEFAULT_HOURS)
            async with self._db.acquire() as conn:
                frames = await plan_frames.list_frames(conn, name, since, until)
            return await asyncio.to_thread(_compare, name, frames, (since, until), variants)
        finally:
            self._is_busy = False


def _check(hours: int, variants: Sequence[Variant]) -> None:
    if not 0 <= hours <= MAX_HOURS:
        raise InvalidArgument(
            f"hours is {hours}: it must be 1 to {MAX_HOURS}, or 0 for {DEFAULT_HOURS}"
        )
    if not 1 <= len(variants) <= MAX_VARIANTS:
        raise InvalidArgument(f"variants has {len(variants)}: it must have 1 to {MAX_VARIANTS}")
    for variant in variants:
        if max(len(variant.policy), len(variant.agents)) > MAX_TEXT:
            raise InvalidArgument(f"a policy and agents may have at most {MAX_TEXT} characters")
        parse_policy(variant.policy or "recorded", Rules())
        groups = parse_agents(variant.agents) if variant.agents else []
        count, slots = sum(n for n, _ in groups), max((s for _, s in groups), default=0)
        if count > MAX_AGENTS or slots > MAX_SLOTS:
            raise InvalidArgument(
                f"agents {variant.agents!r}: at most {MAX_AGENTS} agents of {MAX_SLOTS} slots"
            )


def _compare(
    pool: str,
    rows: Sequence[FrameRow],
    span: tuple[datetime, datetime],
    variants: Sequence[Variant],
) -> Comparison:
    try:
        frames = _frames(rows, clock.monotonic_s() + READ_S)
        recorded = record_of(decisions_since(FrameHistory(), frames, span[0]))
    except _TookTooLong:
        raise InvalidArgument(
            f"the record of pool {pool} is too long to be read in {READ_S:.0f} s: ask for fewer "
            "hours"
        ) from None
    if recorded is None or not recorded.tasks:
        raise NotFound(f"no task ran in pool '{pool}' in that time: nothing to simulate")
    if len(recorded.tasks) > MAX_TASKS:
        raise InvalidArgument(
            f"the record has {len(recorded.tasks)} tasks, more than {MAX_TASKS}: ask for fewer "
            "hours"
        )
    shape = _shape(recorded.agents)
    first = VariantOutcome("(as it was)", shape, recorded_outcome(recorded))
    return Comparison(
        pool,
        *span,
        len(recorded.tasks),
        recorded.unfinished,
        shape,
        [first, *(_outcome(recorded, variant) for variant in variants)],
    )


def _outcome(recorded: Recorded, variant: Variant) -> VariantOutcome:
    policy = variant.policy or "recorded"
    agents = list(recorded.agents)
    if variant.agents:
        agents = agents_of(parse_agents(variant.agents))
    end_s = clock.monotonic_s() + VARIANT_S

    def watch(view: PoolView) -> None:
        if clock.monotonic_s() > end_s:
            raise _TookTooLong

    try:
        rules = parse_policy(policy, recorded.rules)
        result = simulate(recorded.tasks, agents, rules, watch=watch)
    except _TookTooLong:
        text = f"not done in {VARIANT_S:.0f} s: ask for fewer hours"
        return VariantOutcome(policy, _shape(agents), error=text)
    except DetError as error:
        return VariantOutcome(policy, _shape(agents), error=error.text)
    return VariantOutcome(policy, _shape(agents), outcome_of(policy, result))


def _frames(rows: Sequence[FrameRow], end_s: float) -> Iterator[Frame]:
    for row in rows:
        if clock.monotonic_s() > end_s:
            raise _TookTooLong
        yield read_frame(row)


def _shape(agents: Sequence[AgentView]) -> str:
    return shape_of(agents).removeprefix("agents: ")
