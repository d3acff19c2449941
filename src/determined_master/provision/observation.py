"""The observation of a pool: the last plan, the agents, and the work on its machines."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from determined_master.domain.machines.scaling import Machine, Seen
from determined_master.domain.machines.wanted import WantedSlots
from determined_master.domain.schedule.view import RequestView

if TYPE_CHECKING:
    from determined_master.domain.machines.starts import MachineStart
    from determined_master.domain.schedule.view import Size
    from determined_master.pools.loop import PoolDecision
    from determined_master.ports.agents import AgentSnapshot


def waiting_of(decision: PoolDecision) -> list[RequestView]:
    """The requests without a place in the last plan."""
    started = {start.allocation_id for start in decision.plan.starts}
    return [r for r in decision.view.pending if r.allocation_id not in started]


def chosen_of(decision: PoolDecision) -> set[str]:
    """The agents on which the last plan starts something."""
    return {agent for start in decision.plan.starts for agent, _ in start.placement}


def returning_of(
    decision: PoolDecision, ending: Container[str], is_busy: Callable[[str], bool]
) -> list[RequestView]:
    """What will wait again: preemptible work on machines that their cloud takes back.

    Work that fits beside other work, on slots that the last plan left free, needs no further
    machine. Idle machines count for it as they do for waiting requests: they must not end before
    it comes.

    Args:
        decision: the last one of the pool's scheduler.
        ending: the agents of these machines.
        is_busy: whether anything runs on an agent.
    """
    chosen = chosen_of(decision)
    free = sum(
        len(agent.free_slots)
        for agent in decision.view.agents
        if agent.is_accepting and (agent.id in chosen or is_busy(agent.id))
    )
    free -= sum(len(slots) for start in decision.plan.starts for _, slots in start.placement)
    requests: list[RequestView] = []
    for running in decision.view.running:
        if not running.is_preemptible or all(a not in ending for a, _ in running.slots_by_agent):
            continue
        if running.slots <= free:
            free -= running.slots
            continue
        requests.append(
            RequestView(
                allocation_id=running.allocation_id,
                job_id=running.job_id,
                slots=running.slots,
                submitted_at=running.submitted_at,
                max_slots=running.max_slots,
            )
        )
    return requests


def held_of(decision: PoolDecision, returning: Iterable[RequestView] = ()) -> dict[str, int]:
    """Slots of each job, including the starts of the last plan, without what will wait again."""
    held: dict[str, int] = {}
    leaving = {request.allocation_id for request in returning}
    for running in decision.view.running:
        if running.allocation_id not in leaving:
            held[running.job_id] = held.get(running.job_id, 0) + running.slots
    started = {start.allocation_id for start in decision.plan.starts}
    for request in decision.view.pending:
        if request.allocation_id in started:
            held[request.job_id] = held.get(request.job_id, 0) + request.slots
    return held


def see(
    machines: Sequence[Machine],
    decision: PoolDecision,
    returning: Iterable[RequestView],
    agents: Iterable[AgentSnapshot],
    is_busy: Callable[[str], bool],
    size: Size,
    starts: Mapping[str, MachineStart],
) -> list[Seen]:
    """The machines, and whether their agents are busy, idle or away.

    The last plan offered no request to an agent that it did not know. The machine of such an agent
    still counts as starting; otherwise it would look idle while requests wait.

    Args:
        machines: of the pool.
        decision: the last one of its scheduler.
        returning: what will wait again.
        agents: as they are now.
        is_busy: whether anything runs on an agent.
        size: of machines.
        starts: the last report of each machine's start script, by machine.
    """
    connected = {a.id for a in agents if a.is_connected}
    offered = {a.id: a for a in decision.view.agents if a.id in connected}
    chosen = chosen_of(decision)
    wants = WantedSlots([*waiting_of(decision), *returning], size)

    def observe(machine: Machine) -> Seen:
        name = machine.agent_name
        if name in chosen or is_busy(name):
            return Seen(machine=machine, agent="busy")
        if name not in offered:
            return Seen(machine=machine, agent="away", start=starts.get(machine.id))
        return Seen(machine=machine, agent="idle", is_wanted=wants.might_take(offered[name]))

    return [observe(machine) for machine in machines]
