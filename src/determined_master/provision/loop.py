"""One loop for each pool of machines on demand: it observes, asks the controller, and acts."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, assert_never

from msgspec.structs import replace

from determined_master import clock, entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation.messages import Refused
from determined_master.domain.errors import DetError
from determined_master.domain.ids import AllocationId
from determined_master.domain.machines import observations
from determined_master.domain.machines.controller.controller import step
from determined_master.domain.machines.controller.controller_state import ScalingConfig, new_state
from determined_master.domain.machines.controller.listing import ListingIntervals, is_listing_due
from determined_master.domain.machines.demand import demand
from determined_master.engine.causes import Occurrence
from determined_master.engine.errors import NotLeader
from determined_master.ports.machines import ProviderFailed
from determined_master.provision.observation import held_of, returning_of, see, waiting_of
from determined_master.store.connection_errors import DATABASE_ERRORS

if TYPE_CHECKING:
    from determined_master.domain.machines.observations import Action, Observation
    from determined_master.domain.machines.status import MachineStatus
    from determined_master.domain.schedule.view import RequestView
    from determined_master.pools.loop import PoolDecision
    from determined_master.provision.fleet import Fleet
    from determined_master.provision.scheduling import Scheduling

log = logging.getLogger(__name__)

TICK_S = 5.0
"""Between two ticks without a new plan, and between two listings while something is in flight."""
LOOK_S = 1.0
"""How long a new plan waits for the next tick."""
LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


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
        self.state = new_state(config)
        self._fleet = fleet
        self._pool = scheduling
        self._tick_s = tick_s
        self._intervals = ListingIntervals(timedelta(seconds=tick_s))
        self._planned: PoolDecision | None = None
        """The scheduler's decision at the last tick."""
        self._ticked_s = -math.inf
        self.held_back: Mapping[str, str] = {}
        """Requests for which no machine may start, with the reason, as of the last tick."""
        self._jumps = clock.Jumps()

    @property
    def status(self) -> MachineStatus:
        return self.state.status

    async def take_over(self, epoch: int) -> None:
        """Take over as leader: agents of machines whose end was requested get no new work.

        Call it once the running tasks are known from the rows, and before the first agent is
        admitted. Raises database errors.
        """
        await self._fleet.take_over(epoch)
        lead = observations.LeadBegun(
            leaving=self._leaving_agents(), idle_since=self._fleet.idle_since
        )
        await self._advance(lead)
        self._ticked_s = -math.inf
        self.state = replace(self.state, epoch=epoch)

    async def run(self) -> None:
        """Tick until cancelled, in every term."""
        engine = self._pool.engine
        try:
            while True:
                epoch = await engine.wait_until_leading(timeout_s=None)
                has_begun = False
                while engine.epoch == epoch:
                    if has_begun:
                        if self._is_tick_due():
                            await self._try(self.tick)
                    elif self.state.epoch == epoch:
                        has_begun = await self._try(self._fleet.begin)
                    await asyncio.sleep(min(LOOK_S, self._tick_s))
        finally:
            await self._fleet.close()

    async def _try(self, act: Callable[[], Awaitable[None]]) -> bool:
        """Return whether an action succeeded; the loop survives every failure."""
        pool = {"pool": self.state.config.pool}
        try:
            await act()
        except ProviderFailed as error:
            text = f"some work on machines failed; retrying: {error}"
            await self._advance(observations.TickEnded(text, trouble=str(error)))
            return False
        except NotLeader as error:
            log.info("%s: nothing is done", error, extra=pool)
            return False
        except DATABASE_ERRORS:
            text = "machines wait until the database answers"
            await self._advance(observations.TickEnded(text))
            return False
        except Exception:  # the loop must survive
            log.exception("managing machines failed", extra=pool)
            return False
        await self._advance(observations.TickEnded())
        return True

    async def tick(self) -> None:
        """Observe once and carry out the controller's decisions.

        Raises ProviderFailed, NotLeader and database errors.
        """
        if self._jumps.take():
            self._fleet.restart_waits(clock.now())
            await self._advance(observations.ClockJumped())
        decision = self._pool.decision()
        waiting = () if decision is None else await self._wanting(decision)
        is_listed = await self._list_if_due(decision, waiting)
        if decision is None:
            return
        await self._advance(self._observe(decision, waiting))
        unended: ProviderFailed | None = None
        if is_listed:
            unended = await self._end()
            await self._advance(observations.LaunchDue(self._fleet.is_settled))
        done = observations.LaunchesDone(
            waiting=waiting,
            connected=self._pool.connected(),
            fleet=self._fleet_view(),
        )
        await self._advance(done)
        if unended is not None:
            raise unended

    async def _wanting(self, decision: PoolDecision) -> tuple[RequestView, ...]:
        """The waiting requests for which machines may start. Raises database errors."""
        waiting = waiting_of(decision)
        self.held_back = await self._pool.held_back(waiting)
        return tuple(r for r in waiting if r.allocation_id not in self.held_back)

    def _is_tick_due(self) -> bool:
        """Whether the scheduler has a new plan, or the last tick is long ago."""
        now_s, decision = asyncio.get_running_loop().time(), self._pool.decision()
        if decision is self._planned and now_s - self._ticked_s < self._tick_s:
            return False
        self._planned, self._ticked_s = decision, now_s
        return True

    async def _list_if_due(
        self, decision: PoolDecision | None, waiting: Iterable[RequestView]
    ) -> bool:
        """List the machines if the last listing is not enough; whether it did.

        Raises ProviderFailed, also for as long as a listing that failed is not repeated.
        """
        if decision is None:
            is_due = self.state.listing.at is None
        else:
            pool = self._observe(decision, waiting)
            is_due = is_listing_due(self.state, pool, clock.now(), self._intervals)
        if not is_due:
            if failure := self.state.listing.failure:
                raise ProviderFailed(failure)
            return False
        try:
            await self._fleet.look()
        except ProviderFailed as error:
            await self._advance(observations.MachinesListed(self._fleet.unseen, str(error)))
            raise
        await self._advance(observations.MachinesListed(self._fleet.unseen))
        return True

    def _observe(
        self, decision: PoolDecision, waiting: Iterable[RequestView]
    ) -> observations.PoolObserved:
        agents, size = list(self._pool.agents()), self.state.config.size
        is_busy = self._pool.is_busy
        returning = returning_of(decision, {a.id for a in agents if a.is_ending}, is_busy)
        machines = self._fleet.machines()
        return observations.PoolObserved(
            seen=tuple(
                see(machines, decision, returning, agents, is_busy, size, self._fleet.starts)
            ),
            desired=demand([*waiting, *returning], held_of(decision, returning), size),
            connected=frozenset(a.id for a in agents if a.is_connected),
            present=frozenset(a.id for a in agents),
            leaving={id: m.agent_name for id, m in self._fleet.leaving.items()},
            fleet=self._fleet_view(),
        )

    async def _end(self) -> ProviderFailed | None:
        """End machines, once nothing can start on their agents any more.

        Returns:
            The provider's refusal: launches don't wait for machines that cannot be ended.
        """
        busy = frozenset(name for name in self.state.cordoned if self._pool.is_busy(name))
        try:
            await self._advance(observations.AgentsCordoned(busy))
            await self._advance(observations.MachinesEnded(self._leaving_agents()))
        except ProviderFailed as error:
            return error
        return None

    async def _advance(self, observation: Observation) -> None:
        self.state, actions = step(self.state, observation, clock.now())
        for action in actions:
            answer = await self._carry_out(action)
            if answer is not None:
                await self._advance(answer)

    async def _carry_out(self, action: Action) -> Observation | None:
        match action:
            case observations.WriteLog():
                self._write(action)
            case observations.NoteIdleTimes(since=since):
                await self._fleet.note_idle(since)
            case observations.CordonAgents(names=names):
                await self._pool.cordon(names)
            case observations.SpareMachine(machine_id=machine_id):
                self._fleet.spare(machine_id)
            case observations.EndMachines(machines=machines):
                await self._fleet.end(machines)
            case observations.SettleLaunches():
                return await self._launch(None)
            case observations.LaunchMachines(count=count):
                return await self._launch(count)
            case observations.FindTasks(allocation_ids=ids):
                return self._find_tasks(ids)
            case observations.RefuseRequest():
                await self._refuse(action)
            case _:
                assert_never(action)
        return None

    async def _launch(self, count: int | None) -> observations.LaunchAnswered:
        """Start machines; None settles the launches that have no answer yet."""
        try:
            if count is None:
                await self._fleet.settle()
                return observations.LaunchAnswered()
            machines = tuple(await self._fleet.launch(count))
        except ProviderFailed as error:
            return observations.LaunchAnswered(failure=str(error))
        extra = {"pool": self.state.config.pool, "machines": [m.id for m in machines]}
        log.info("machines are started", extra=extra)
        return observations.LaunchAnswered(machines=machines)

    def _find_tasks(self, allocation_ids: Iterable[str]) -> observations.TasksFound:
        allocations = ((id, self._pool.live.find(id)) for id in allocation_ids)
        return observations.TasksFound(
            {id: live.request.task_id for id, live in allocations if live is not None}
        )

    async def _refuse(self, order: observations.RefuseRequest) -> None:
        event = Refused(reason=order.reason, is_for_now=True)
        cause = Occurrence("launch", entropy.new_uuid())
        id = order.allocation_id
        try:
            await self._pool.engine.post(ALLOCATION, AllocationId(id), event, cause=cause)
        except DetError as error:
            log.info("a request has gone: %s", error, extra={"allocation": id})

    def _write(self, line: observations.WriteLog) -> None:
        extra: dict[str, object] = {"pool": self.state.config.pool}
        if line.machine:
            extra["machine"] = line.machine
        if line.machines:
            extra["machines"] = list(line.machines)
        log.log(LEVELS[line.level], "%s", line.text, extra=extra)

    def _leaving_agents(self) -> frozenset[str]:
        return frozenset(m.agent_name for m in self._fleet.leaving.values())

    def _fleet_view(self) -> observations.FleetView:
        return observations.FleetView(held=self._fleet.held, is_settled=self._fleet.is_settled)
