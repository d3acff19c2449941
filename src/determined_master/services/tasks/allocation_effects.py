"""Effects of allocations: starting and signalling containers, reporting to the owner."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

from determined_master import clock
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.generic_tasks import GENERIC_TASK
from determined_master.aggregates.interactive_tasks import INTERACTIVE_TASK
from determined_master.aggregates.trials import TRIAL
from determined_master.domain import ids
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.allocation import texts
from determined_master.domain.checkpoints import gc
from determined_master.domain.errors import FailedPrecondition
from determined_master.domain.experiment.messages import GcEnded, GcLost
from determined_master.domain.generic_task.messages import RunEnded
from determined_master.domain.ids import AllocationId, ExperimentId, TaskId, TrialId
from determined_master.domain.interactive_task import messages as interactive
from determined_master.domain.task.kinds import TASK_KINDS
from determined_master.domain.task.spec import device_type_of
from determined_master.domain.trial.messages import AllocationEnded
from determined_master.engine import Deferred
from determined_master.engine.kind import tag_of
from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import StartOrder
from determined_master.services.containers.pod_terms import terms_of
from determined_master.store.checkpoints import gc as gc_tasks

if TYPE_CHECKING:
    from determined_master.engine import EffectContext, Engine
    from determined_master.ports.agents import AgentSnapshot, ClusterBackend
    from determined_master.ports.orders import PodTerms
    from determined_master.services.containers.pod_terms import PodTermsReader
    from determined_master.services.containers.specs import ContainerSpecs
    from determined_master.services.logs.policies import LogPolicyMatcher
    from determined_master.store.db import Conn
    from determined_wire.agent_link import ContainerSpec

    Order = tuple[alloc.StartContainer, EffectContext]

log = logging.getLogger(__name__)


OUTPUT_LIMIT = timedelta(seconds=10)
"""How long the next run may wait for the last output of the one before."""
OUTPUT_POLL_S = 0.1


class AllocationEffects:
    """Carries out the effects of allocations."""

    def __init__(
        self,
        engine: Engine,
        backend: ClusterBackend,
        specs: ContainerSpecs,
        policies: LogPolicyMatcher,
        pods: PodTermsReader | None = None,
    ) -> None:
        """`pods` is needed where containers are put on Kubernetes clusters."""
        self._pods = pods
        self._engine = engine
        self._backend = backend
        self._specs = specs
        self._policies = policies

    def register(self) -> None:
        """Register the handlers with the engine."""
        handlers = self._engine.handlers
        handlers.register_group(alloc.StartContainer, self.start_containers)
        handlers.register(alloc.SignalContainer, self.signal_container)
        handlers.register(alloc.ForgetContainer, self.forget_container)
        handlers.register(alloc.ReportAllocationEnd, self.report_end)

    async def start_containers(self, orders: Sequence[Order]) -> None:
        """Hand containers of a gang to their agents; each starts once however often it is ordered.

        The common part of the containers is read once. An agent that is away delays no other.
        """
        state = await self._state(orders[0][1])
        if state is None or state.kill_reason is not None or state.outcome is not None:
            return
        over = {c.id for c in state.containers if c.state == "TERMINATED"}
        agents = {a.id: a for a in self._backend.agents() if a.is_connected}
        failed: dict[str, BaseException] = {}
        here: list[Order] = []
        for effect, ctx in orders:
            if effect.container_id in over:
                continue
            if effect.agent_id in agents:
                here.append((effect, ctx))
            else:
                failed[effect.container_id] = _is_away(effect.agent_id)
        types = [_device_type(effect, agents[effect.agent_id]) for effect, _ in here]
        containers = [effect for effect, _ in here]
        try:
            specs = await self._specs.build(state, containers, types, self._hosts())
        except FailedPrecondition as refusal:
            await self._refuse([o for o in orders if o[0].container_id not in over], refusal)
            return
        common = await self._pods.read(state) if self._pods is not None and here else None
        starts = (self._start(o, spec, common) for o, spec in zip(here, specs, strict=True))
        results = await asyncio.gather(*starts, return_exceptions=True)
        for (effect, _), error in zip(here, results, strict=True):
            if error is not None:
                failed[effect.container_id] = error
        if failed:
            done = [ctx for effect, ctx in orders if effect.container_id not in failed]
            await asyncio.gather(*(ctx.close() for ctx in done))
            raise next(iter(failed.values()))

    async def _refuse(self, orders: Sequence[Order], refusal: FailedPrecondition) -> None:
        """Fail containers that may not start: repeating the order would not help."""
        for effect, ctx in orders:
            event = alloc.AllocationEffectFailed(
                effect=tag_of(effect), error=refusal.text, container_id=effect.container_id
            )
            await ctx.post(ALLOCATION, AllocationId(ctx.aggregate_id), event)

    async def _start(self, order: Order, spec: ContainerSpec, common: PodTerms | None) -> None:
        effect, ctx = order
        start = StartOrder(
            agent_id=effect.agent_id,
            container_id=effect.container_id,
            allocation_id=ctx.aggregate_id,
            slot_ids=effect.slot_ids,
            spec=spec,
            pod=terms_of(common, effect),
        )
        try:
            await self._backend.start_container(start)
        except NotConnected as error:
            raise Deferred(str(error), topic=effect.agent_id) from error

    def _hosts(self) -> dict[str, frozenset[str]]:
        """Names and addresses of each agent's machine."""
        agents = self._backend.agents()
        return {a.id: frozenset(filter(None, (a.hostname, a.address))) for a in agents}

    async def signal_container(self, effect: alloc.SignalContainer, ctx: EffectContext) -> None:
        """Send the signal; an agent that is away gets it when it is back, if it ever is."""
        try:
            await self._backend.signal_container(
                effect.agent_id, effect.container_id, effect.signal, ctx.aggregate_id
            )
        except NotConnected as error:
            state = await self._state(ctx)
            over = {c.id for c in state.containers if c.state == "TERMINATED"} if state else set()
            if effect.container_id in over:
                return  # lost with its agent, which ends it when it reconnects
            raise Deferred(str(error), topic=effect.agent_id) from error

    async def forget_container(self, effect: alloc.ForgetContainer, ctx: EffectContext) -> None:
        """Let the agent remove the files; one that is away learns it from its welcome."""
        try:
            await self._backend.forget_container(effect.agent_id, effect.container_id)
        except NotConnected:
            return

    async def report_end(self, effect: alloc.ReportAllocationEnd, ctx: EffectContext) -> None:
        """Report the end of an allocation to its trial, other task or experiment."""
        state = await self._state(ctx)
        if state is None:
            return
        group = TASK_KINDS[state.request.task_type].group
        if group == "checkpoint_gc":
            await _report_collection(state.request, effect.outcome, ctx)
            return
        if group == "generic":
            ended = RunEnded(allocation_id=ctx.aggregate_id, outcome=effect.outcome)
            await ctx.post(GENERIC_TASK, TaskId(state.request.task_id), ended)
            return
        if group == "interactive":
            status = texts.exit_status(state, effect.outcome)
            over = interactive.InteractiveRunEnded(
                allocation_id=ctx.aggregate_id, exit_status=status
            )
            await ctx.post(INTERACTIVE_TASK, TaskId(state.request.task_id), over)
            return
        if state.request.trial_id is None:
            return
        if effect.outcome.kind == "failed":
            await self._wait_for_output(state, ctx)
        event = AllocationEnded(allocation_id=ctx.aggregate_id, outcome=effect.outcome)
        await ctx.post(TRIAL, TrialId(state.request.trial_id), event)

    async def _wait_for_output(self, state: alloc.Allocation, ctx: EffectContext) -> None:
        """The last report of a container may decide whether and where there is a next run.

        Raises:
            Deferred: it has not all come yet, and still may.
        """
        ids = [container.id for container in state.containers]
        if not ids or await self._policies.has_seen_all(state.request.task_id, ids):
            return
        waited = clock.now() - ctx.ordered_at
        if timedelta(0) <= waited < OUTPUT_LIMIT:  # below 0 the clock was set back
            raise Deferred(f"output of {ctx.aggregate_id} is on its way", retry_s=OUTPUT_POLL_S)

    async def _state(self, ctx: EffectContext) -> alloc.Allocation | None:
        state: alloc.Allocation | None = await self._engine.read(
            ALLOCATION, AllocationId(ctx.aggregate_id)
        )
        return state


def _is_away(agent_id: str) -> Deferred:
    return Deferred(f"agent {agent_id} is not connected", topic=agent_id)


def _device_type(effect: alloc.StartContainer, agent: AgentSnapshot) -> str:
    """Of the slots that the container gets."""
    types = frozenset(d.type for d in agent.devices if d.id in effect.slot_ids)
    return device_type_of(len(effect.slot_ids), types)


async def _report_collection(
    request: alloc.AllocationRequest, outcome: alloc.AllocationOutcome, ctx: EffectContext
) -> None:
    run = ids.run_of(ctx.aggregate_id)
    assert request.experiment_id is not None  # every GC task has one
    experiment_id = ExperimentId(request.experiment_id)
    if gc.is_run_again(outcome.kind, run):
        lost = GcLost(task_id=request.task_id, run=run)
        await ctx.post(EXPERIMENT, experiment_id, lost)
        return
    error = "" if outcome.kind == "completed" else outcome.message or outcome.kind
    if error:
        log.warning(
            "checkpoints could not be deleted",
            extra={"task_id": request.task_id, "experiment_id": request.experiment_id},
        )

    async def store(conn: Conn) -> None:
        await gc_tasks.end_task(conn, request.task_id, clock.now())

    event = GcEnded(task_id=request.task_id, error=error)
    await ctx.post(EXPERIMENT, experiment_id, event, within=store)
