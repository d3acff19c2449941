"""One loop a pool of machines on demand: look, decide, end, launch."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock, entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation.messages import Refused
from determined_master.domain.errors import DetError
from determined_master.domain.ids import AllocationId
from determined_master.domain.machines.demand import demand
from determined_master.domain.machines.launch_backoff import (
    LaunchErrors,
    LaunchPatience,
    note_failure,
    pause_after,
    standing_failure,
)
from determined_master.domain.machines.scaling import Clocks, Ending, Limits, Scaling, scale
from determined_master.domain.machines.status import MachineStatus
from determined_master.domain.schedule.view import Size
from determined_master.engine.causes import Occurrence
from determined_master.engine.errors import NotLeader
from determined_master.ports import ProviderFailed
from determined_master.provision.fleet import ACTIVE
from determined_master.provision.join_tracker import JoinTracker
from determined_master.provision.observation import held_of, see, waiting_of
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from datetime import datetime

    from determined_master.domain.machines.scaling import Machine
    from determined_master.domain.schedule.view import RequestView
    from determined_master.engine import Engine
    from determined_master.pools.live import LiveAllocations
    from determined_master.pools.loop import PoolDecision
    from determined_master.ports import AgentSnapshot
    from determined_master.provision.fleet import Fleet

log = logging.getLogger(__name__)

TICK_S = 5.0
SENT_AWAY_AT_ONCE = 200
COMPLAINT_EVERY = timedelta(minutes=10)


class ScalingConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What the settings say of a pool's machines."""

    pool: str
    limits: Limits
    size: Size
    patience: LaunchPatience = LaunchPatience()


@dataclass(frozen=True)
class Scheduling:
    """What a loop asks of the pool whose machines it keeps."""

    engine: Engine
    live: LiveAllocations
    agents: Callable[[], Iterable[AgentSnapshot]]
    decision: Callable[[], PoolDecision | None]
    """The last one of the pool's scheduler."""
    shut: Callable[[frozenset[str]], Awaitable[None]]
    """Lets nothing start on these agents; returns once nothing is on its way there."""


class MachineLoop:
    """Keeps as many machines as the pool needs, while this master leads."""

    def __init__(
        self,
        config: ScalingConfig,
        fleet: Fleet,
        scheduling: Scheduling,
        *,
        tick_s: float = TICK_S,
    ) -> None:
        self.config = config
        self.news = MachineStatus(machines=0, max_machines=config.limits.max_machines)
        """As of the last look."""
        self._fleet = fleet
        self._pool = scheduling
        self._tick_s = tick_s
        self._jumps = clock.Jumps()
        self._clocks = Clocks()
        self._joins = JoinTracker(config.pool, config.limits)
        self._errors: LaunchErrors | None = None
        self._failures = 0
        """Launches in a row of which nothing came."""
        self._again_at: datetime | None = None
        """Before that none is tried."""
        self._known_unseen: frozenset[str] = frozenset()
        self._sent_away: set[str] = set()
        """Tasks whose log has the current failure: each gets it once."""
        self._shut: frozenset[str] = frozenset()
        self._told = ""
        self._complained_at: datetime | None = None
        self._epoch: int | None = None
        """Of the lead that has taken over."""

    async def take_over(self, epoch: int) -> None:
        """A lead has begun: what was asked to end gets nothing new.

        To be called once what runs is known from the rows, and before the first agent is let in.
        Raises what the database does.
        """
        await self._fleet.take_over(epoch)
        await self._close({m.agent_name for m in self._fleet.leaving.values()} | self._shut)
        self._clocks = Clocks(dict(self._fleet.idle_since))
        self._joins = JoinTracker(self.config.pool, self.config.limits, self._fleet.idle_since)
        self._forget_failures()
        self._epoch = epoch

    async def run(self) -> None:
        """Look forever, in every lead; cancelled at the master's end."""
        engine = self._pool.engine
        try:
            while True:
                epoch = await engine.wait_until_leading(timeout_s=None)
                has_begun = False
                while engine.epoch == epoch:
                    if has_begun:
                        await self._try(self.tick)
                    elif self._epoch == epoch:
                        has_begun = await self._try(self._fleet.begin)
                    await asyncio.sleep(self._tick_s)
        finally:
            await self._fleet.close()

    async def _try(self, step: Callable[[], Awaitable[None]]) -> bool:
        """Whether a step was done; the loop outlives whatever happens in it."""
        try:
            await step()
        except ProviderFailed as error:
            self.news = msgspec.structs.replace(self.news, trouble=str(error))
            self._say(f"not all could be done for machines, it is tried again: {error}")
            return False
        except NotLeader as error:
            log.info("%s: nothing is done", error, extra={"pool": self.config.pool})
            return False
        except DATABASE_ERRORS:
            self._say("machines wait until the database answers")
            return False
        except Exception:  # the loop must live on
            log.exception("managing machines failed", extra={"pool": self.config.pool})
            return False
        self._told = ""
        return True

    def _say(self, text: str) -> None:
        """Write a line when it is another than the last time."""
        if text != self._told:
            self._told = text
            log.warning(text, extra={"pool": self.config.pool})

    async def tick(self) -> None:
        """Look once and carry out what is decided.

        Raises ProviderFailed, NotLeader, and what the database does.
        """
        if self._jumps.take():
            self._count_again()
        config, pool = self.config, self._pool
        machines = await self._fleet.look()
        self._note_unseen()
        decision = pool.decision()
        if decision is None:
            return
        waiting = waiting_of(decision)
        desired = demand(waiting, held_of(decision), config.size)
        seen = see(machines, decision, pool.agents(), self._is_busy, config.size)
        held = self._fleet.held
        decided = scale(seen, desired, config.limits, self._clocks, clock.now(), held=held)
        self._clocks = decided.clocks
        self._joins.note(seen, decided, clock.now())
        await self._fleet.note_idle(decided.clocks.idle_since)
        self._note(decided, machines)
        unended: ProviderFailed | None = None
        try:
            await self._end(decided.endings, machines)
        except ProviderFailed as error:  # who waits for a machine does not wait for that
            unended = error
        launched = await self._launch(self._joins.launch(decided.launch, clock.now()))
        self._joins.started(launched)
        self._note(decided, [*machines, *launched])
        await self._send_away(decided.machines, waiting)
        if unended is not None:
            raise unended

    def _count_again(self) -> None:
        """Let every length of time begin now: the clock was set, so earlier instants mean nothing.

        Else machines would be ended whose time is not over, and none be started after a failure
        for as long as the clock went back.
        """
        log.warning("the clock has jumped", extra={"pool": self.config.pool})
        self._clocks = Clocks()
        self._joins.count_again(clock.now())
        self._fleet.count_again(clock.now())
        self._forget_failures()

    def _is_busy(self, agent_name: str) -> bool:
        return bool(self._pool.live.on_agent(agent_name))

    async def _end(self, endings: Sequence[Ending], machines: Sequence[Machine]) -> None:
        """End machines, once nothing can start there any more, unless something has."""
        ending = {e.machine.agent_name for e in endings}
        leaving = {m.agent_name for m in self._fleet.leaving.values()}
        stay = {m.agent_name for m in machines if m.state in ACTIVE} - ending - leaving
        present = {agent.id for agent in self._pool.agents()}
        fading = (self._shut & present) - stay
        await self._close(fading | ending | leaving)
        for machine in list(self._fleet.leaving.values()):
            if self._is_busy(machine.agent_name):
                self._fleet.spare(machine.id)
        idle = [e for e in endings if not self._is_busy(e.machine.agent_name)]
        for one in idle:
            extra = {"pool": self.config.pool, "machine": one.machine.id}
            log.info("a machine is ended: %s", one.reason, extra=extra)
        await self._fleet.end([one.machine for one in idle])
        left = {m.agent_name for m in self._fleet.leaving.values()}
        if self._shut != fading | left:
            await self._close(fading | left)

    async def _close(self, names: frozenset[str] | set[str]) -> None:
        if names or self._shut:
            self._shut = frozenset(names)
            await self._pool.shut(self._shut)

    async def _launch(self, count: int) -> Sequence[Machine]:
        """Start machines, unless a failure counts; what was started."""
        launched: Sequence[Machine] = ()
        waits = self._again_at is not None and clock.now() < self._again_at
        if waits or self._standing() is not None:
            return launched
        try:
            if not self._fleet.is_settled:
                await self._fleet.settle()
            elif count:
                launched = await self._fleet.launch(count)
                extra = {"pool": self.config.pool, "machines": [m.id for m in launched]}
                log.info("machines are started", extra=extra)
            else:
                return launched
        except ProviderFailed as error:
            self._failed(str(error))
            return launched
        if not self._fleet.unseen:  # what was started may have the fate of those before
            self._forget_failures()
        return launched

    def _note_unseen(self) -> None:
        """A machine that the provider has started and never lists is a launch that failed."""
        before, self._known_unseen = self._known_unseen, self._fleet.unseen
        if count := len(self._known_unseen - before):
            who = "1 machine was" if count == 1 else f"{count} machines were"
            self._failed(
                f"{who} started and never listed: the cloud's console shows whether it ended at "
                "once and why, or has lost the tags or labels by which the master knows it"
            )

    def _failed(self, text: str) -> None:
        now, patience = clock.now(), self.config.patience
        self._errors = note_failure(self._errors, text, patience, now)
        self._failures += 1
        self._again_at = now + pause_after(self._failures, patience)
        self._complain(text)

    def _forget_failures(self) -> None:
        self._errors = self._again_at = self._complained_at = None
        self._failures = 0

    def _complain(self, failure: str) -> None:
        """Write a line now and then: a provider's text may have another number each time."""
        now = clock.now()
        if self._complained_at is None or now - self._complained_at >= COMPLAINT_EVERY:
            self._complained_at = now
            text = "no machine could be started, it is tried again: %s"
            log.error(text, failure, extra={"pool": self.config.pool})

    def _standing(self) -> str | None:
        """The failure that counts now."""
        return standing_failure(self._errors, self.config.patience, clock.now())

    async def _send_away(self, machines: int, waiting: Sequence[RequestView]) -> None:
        """Let those hear of the failure that counts who need more than there is, each once."""
        failure = self._standing()
        if failure is None:
            self._sent_away.clear()
            return
        room = machines * self.config.size.slots
        for request in [r for r in waiting if r.slots > room][:SENT_AWAY_AT_ONCE]:
            live = self._pool.live.find(request.allocation_id)
            if live is None or live.request.task_id in self._sent_away:
                continue
            self._sent_away.add(live.request.task_id)
            reason = (
                f"no machine could be started for resource pool {self.config.pool}, which has "
                f"{machines}: {failure}"
            )
            event = Refused(reason=reason, is_for_now=True)
            cause = Occurrence("launch", entropy.new_uuid())
            try:
                await self._pool.engine.post(ALLOCATION, AllocationId(live.id), event, cause=cause)
            except DetError as error:
                log.info("a request has gone: %s", error, extra={"allocation": live.id})

    def _note(self, decided: Scaling, machines: Sequence[Machine]) -> None:
        """Keep for others what was seen."""
        limits, errors = self.config.limits, self._errors
        known, now = {a.id for a in self._pool.agents() if a.is_connected}, clock.now()
        on_the_way = [
            m.launched_at
            for m in machines
            if m.state in ACTIVE
            and m.agent_name not in known
            and (m.state == "pending" or now - m.launched_at < limits.max_starting)
        ]
        fleet = self._fleet
        until = None
        if errors is not None and self._standing() is not None:
            until = errors.at + self.config.patience.timeout
        elif not (decided.launch or fleet.held) and fleet.is_settled:
            errors = None  # of a launch that nobody waits for any more
        self.news = MachineStatus(
            machines=decided.machines,
            max_machines=limits.max_machines,
            starting=len(on_the_way),
            starting_since=min(on_the_way, default=None),
            failure=errors.text if errors is not None else "",
            tried_again_at=until,
            silent=self._joins.silent,
            rests_until=self._joins.mute.until,
        )
