"""Routes of agents and slots, and of the allocations that hold them."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import msgspec

from determined_master import clock
from determined_master.api.http.access import FILTERED, IN_SERVICE, SIGNED_IN
from determined_master.api.http.protojson import encode, ready
from determined_master.api.http.routes import Call, plain_route, route, socket_route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import cut
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.errors import NotFound
from determined_master.pools.agent_backoff import CurrentBackoff
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import AgentSnapshot, AgentSockets
from determined_master.services.access.guard import Guard
from determined_master.services.cluster.agent_switches import AgentSwitches
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.join_tokens import JoinTokens
from determined_master.services.cluster.pools import Pools
from determined_wire import agent_link as link
from determined_wire import own
from determined_wire.rest import agents as wire
from determined_wire.rest import tasks as task_wire
from determined_wire.rest.types.agent import Agent, DeviceStats, Slot, SlotStats
from determined_wire.rest.types.container import Container, ContainerState
from determined_wire.rest.types.device import Device, DeviceType
from determined_wire.rest.types.task import (
    AllocationSummary,
    ProxyPortConfig,
    ResourcesSummary,
    ResourcesSummaryDevices,
)

AGENTS_AT_ONCE = 10
"""How many are written before others get their turn: two milliseconds' worth, of 8 slots each."""

Held = list[tuple[alloc.Allocation, alloc.Container]]


@route("GET", "/api/v1/agents", access=SIGNED_IN, in_task=READS)
async def get_agents(
    call: Call, request: wire.GetAgentsRequest, agents: Agents
) -> wire.GetAgentsResponse:
    """The agents that are connected, or may still reconnect."""
    connected = await agents.list_all(call.caller)
    hidden = await agents.hidden(call.caller)
    page, pagination = cut(connected, request.offset, request.limit)
    shown: list[Agent] = []
    for number, agent in enumerate(page, start=1):
        seen = _agent(
            agent,
            agents.containers_on(agent.id, hidden),
            with_slots=not request.exclude_slots,
            with_containers=not request.exclude_containers,
        )
        rested = _with_rest(seen, agents.backoff_of(agent.id))
        # Written one by one, so that a thousand of them never hold the loop for long.
        shown.append(ready(Agent, encode(rested)))
        if number % AGENTS_AT_ONCE == 0:
            await asyncio.sleep(0)
    return wire.GetAgentsResponse(agents=shown, pagination=pagination)


@route("POST", "/api/v1/agents/join-tokens", access=IN_SERVICE)
async def create_join_token(
    call: Call, request: own.CreateAgentJoinTokenRequest, join_tokens: JoinTokens
) -> own.CreateAgentJoinTokenResponse:
    """A token with which one agent joins, once."""
    token, expires_at = await join_tokens.create(call.caller, request.agent_id)
    return own.CreateAgentJoinTokenResponse(token=token, expires_at=expires_at)


@route("GET", "/api/v1/agents/{agent_id}", access=SIGNED_IN, in_task=READS)
async def get_agent(
    call: Call, request: wire.GetAgentRequest, agents: Agents
) -> wire.GetAgentResponse:
    """One agent."""
    agent = await agents.get(call.caller, request.agent_id)
    held = agents.containers_on(agent.id, await agents.hidden(call.caller))
    return wire.GetAgentResponse(agent=_agent(agent, held))


@route("GET", "/api/v1/agents/{agent_id}/slots", access=SIGNED_IN, in_task=READS)
async def get_slots(
    call: Call, request: wire.GetSlotsRequest, agents: Agents
) -> wire.GetSlotsResponse:
    """The slots of an agent."""
    agent = await agents.get(call.caller, request.agent_id)
    slots = _slots(agent, agents.containers_on(agent.id, await agents.hidden(call.caller)))
    return wire.GetSlotsResponse(slots=list(slots.values()))


@route("GET", "/api/v1/agents/{agent_id}/slots/{slot_id}", access=SIGNED_IN, in_task=READS)
async def get_slot(
    call: Call, request: wire.GetSlotRequest, agents: Agents
) -> wire.GetSlotResponse:
    """One slot."""
    agent = await agents.get(call.caller, request.agent_id)
    hidden = await agents.hidden(call.caller)
    return wire.GetSlotResponse(slot=_slot(agent, request.slot_id, agents, hidden))


@route("POST", "/api/v1/agents/{agent_id}/enable", access=IN_SERVICE)
async def enable_agent(
    call: Call, request: wire.EnableAgentRequest, agent_switches: AgentSwitches, agents: Agents
) -> wire.EnableAgentResponse:
    """Let an agent and all of its slots take work."""
    agent = await agent_switches.enable_agent(call.caller, request.agent_id)
    held = agents.containers_on(agent.id)
    return wire.EnableAgentResponse(agent=_agent(agent, held))


@route("POST", "/api/v1/agents/{agent_id}/disable", access=IN_SERVICE)
async def disable_agent(
    call: Call, request: wire.DisableAgentRequest, agent_switches: AgentSwitches, agents: Agents
) -> wire.DisableAgentResponse:
    """Give an agent no more work; without `drain` what runs there starts again elsewhere."""
    agent = await agent_switches.disable_agent(call.caller, request.agent_id, drain=request.drain)
    held = agents.containers_on(agent.id)
    return wire.DisableAgentResponse(agent=_agent(agent, held))


@route("POST", "/api/v1/agents/{agent_id}/slots/{slot_id}/enable", access=IN_SERVICE)
async def enable_slot(
    call: Call, request: wire.EnableSlotRequest, agent_switches: AgentSwitches, agents: Agents
) -> wire.EnableSlotResponse:
    """Let a slot take work, as far as its agent does."""
    agent = await agent_switches.enable_slot(call.caller, request.agent_id, request.slot_id)
    return wire.EnableSlotResponse(slot=_slot(agent, request.slot_id, agents))


@route("POST", "/api/v1/agents/{agent_id}/slots/{slot_id}/disable", access=IN_SERVICE)
async def disable_slot(
    call: Call, request: wire.DisableSlotRequest, agent_switches: AgentSwitches, agents: Agents
) -> wire.DisableSlotResponse:
    """Give a slot no more work; without `drain` what runs on it starts again elsewhere."""
    agent = await agent_switches.disable_slot(
        call.caller, request.agent_id, request.slot_id, drain=request.drain
    )
    return wire.DisableSlotResponse(slot=_slot(agent, request.slot_id, agents))


@socket_route("/agents", access=SIGNED_IN, authenticates=True)
async def agent_socket(call: Call, socket: Any, sockets: AgentSockets) -> None:
    """The link with one agent; it shows its join token itself."""
    await sockets.serve(socket)


@route("GET", "/api/v1/tasks", access=FILTERED, in_task=READS)
async def get_tasks(
    call: Call,
    request: task_wire.GetTasksRequest,
    agents: Agents,
    live: LiveAllocations,
    guard: Guard,
    pools: Pools,
) -> task_wire.GetTasksResponse:
    """The allocations that wait or run, by id."""
    return task_wire.GetTasksResponse(
        allocation_id_to_summary=await _summaries(call, agents, live, guard, pools)
    )


@plain_route("GET", "/tasks", access=FILTERED, in_task=READS)
async def plain_tasks(
    call: Call, agents: Agents, live: LiveAllocations, guard: Guard, pools: Pools
) -> dict[str, Any]:
    """The same, as older clients read it."""
    found = await _summaries(call, agents, live, guard, pools)
    return {allocation_id: _in_snake_case(summary) for allocation_id, summary in found.items()}


async def _summaries(
    call: Call, agents: Agents, live: LiveAllocations, guard: Guard, pools: Pools
) -> dict[str, AllocationSummary]:
    by_id = {agent.id: agent for agent in await agents.list_all(call.caller)}
    every = list(live.values())
    seen = await guard.seen(call.caller, "allocation", [a.id for a in every])
    return {
        a.id: _summary(a, by_id, pools.scheduler_type(a.request.pool))
        for a in every
        if a.id in seen
    }


def _in_snake_case(value: Any) -> Any:
    """A message by the names of its fields; ports without a use are left out, as in 0.38.1."""
    if isinstance(value, msgspec.Struct):
        items = msgspec.structs.asdict(value).items()
        return {k: _in_snake_case(v) for k, v in items if k != "proxy_ports" or v}
    if isinstance(value, dict):
        return {key: _in_snake_case(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_in_snake_case(item) for item in value]
    return value


def _summary(
    a: alloc.Allocation, agents: dict[str, AgentSnapshot], scheduler_type: str
) -> AllocationSummary:
    resources = []
    for container in a.containers:
        agent = agents.get(container.agent_id)
        devices = [d for d in (agent.devices if agent else ()) if d.id in container.slot_ids]
        on_agent = ResourcesSummaryDevices(devices=[_device(d) for d in devices])
        resources.append(
            ResourcesSummary(
                resources_id=container.id,
                resources_type="docker-container",
                allocation_id=a.id,
                agent_devices={container.agent_id: on_agent},
                container_id=container.id,
            )
        )
    return AllocationSummary(
        task_id=a.request.task_id,
        allocation_id=a.id,
        name=a.request.name,
        registered_time=a.request.submitted_at,
        resource_pool=a.request.pool,
        slots_needed=a.request.slots,
        resources=resources,
        scheduler_type=scheduler_type,
        priority=a.request.priority,
        proxy_ports=[
            ProxyPortConfig(
                service_id=p.service_id(a.request.task_id),
                port=p.port,
                proxy_tcp=p.is_tcp,
                unauthenticated=p.is_unauthenticated,
            )
            for p in a.request.proxy_ports
        ],
    )


def agent_text(agent: AgentSnapshot, agents: Agents) -> bytes:
    """The JSON of an agent for those who see all tasks."""
    seen = _agent(agent, agents.containers_on(agent.id))
    return encode(_with_rest(seen, agents.backoff_of(agent.id)))


def _agent(
    agent: AgentSnapshot, held: Held, *, with_slots: bool = True, with_containers: bool = True
) -> Agent:
    containers = {
        c.id or f"hidden-{n}": shown_container(agent, c) for n, (_, c) in enumerate(held)
    }
    return Agent(
        id=agent.id,
        registered_time=agent.registered_at,
        slots=_slots(agent, held) if with_slots else {},
        containers=containers if with_containers else {},
        addresses=[agent.address],
        enabled=_is_on(agent),
        draining=_is_draining(agent),
        version=agent.version,
        resource_pools=[agent.pool, *agent.more_pools],
        slot_stats=_stats(agent, held),
    )


def _with_rest(agent: Agent, rest: CurrentBackoff | None) -> Agent:
    if rest is None:
        return agent
    fields = {name: getattr(agent, name) for name in agent.__struct_fields__}
    until = clock.now() + timedelta(seconds=rest.left_s)
    return own.RestingAgent(**fields, resting_until=until, failed_starts=rest.failures)


def _slots(agent: AgentSnapshot, held: Held) -> dict[str, Slot]:
    by_slot = {slot: container for _, container in held for slot in container.slot_ids}
    slots = {}
    for device in agent.devices:
        container = by_slot.get(device.id)
        slots[f"/agents/{agent.id}/slots/{device.id}"] = Slot(
            id=str(device.id),
            device=_device(device),
            enabled=_is_slot_on(agent, device.id),
            container=None if container is None else shown_container(agent, container),
            draining=_is_slot_draining(agent, device.id),
        )
    return slots


def _slot(
    agent: AgentSnapshot, slot_id: str, agents: Agents, hidden: frozenset[str] = frozenset()
) -> Slot:
    slots = _slots(agent, agents.containers_on(agent.id, hidden))
    number = slot_id.lstrip("0") or "0"
    slot = slots.get(f"/agents/{agent.id}/slots/{number}")
    if slot is None:
        raise NotFound(f"slot '{slot_id}' not found on agent {agent.id}: see `det slot list`")
    return slot


def _is_on(agent: AgentSnapshot) -> bool:
    return agent.is_connected and agent.is_enabled and not agent.is_draining


def _is_draining(agent: AgentSnapshot) -> bool:
    return agent.is_draining or not agent.is_connected


def _is_slot_on(agent: AgentSnapshot, slot: int) -> bool:
    return _is_on(agent) and slot not in agent.disabled_slots | agent.draining_slots


def _is_slot_draining(agent: AgentSnapshot, slot: int) -> bool:
    return _is_draining(agent) or slot in agent.draining_slots


def shown_container(agent: AgentSnapshot, container: alloc.Container) -> Container:
    """A container as its agent and its task show it; a hidden one has no id."""
    devices = [d for d in agent.devices if d.id in container.slot_ids]
    return Container(
        parent=f"/agents/{agent.id}",
        id=container.id,
        state=ContainerState[f"STATE_{container.state}"],
        devices=[_device(d) for d in devices],
        permission_denied=not container.id,
    )


def _device(device: link.Device) -> Device:
    return Device(
        id=device.id,
        brand=device.brand,
        uuid=device.uuid,
        type=DeviceType[f"TYPE_{device.type.upper()}"],
    )


def _stats(agent: AgentSnapshot, held: Held) -> SlotStats:
    states = {slot: c.state for _, c in held for slot in c.slot_ids}
    by_type: dict[str, list[link.Device]] = {}
    by_brand: dict[str, list[link.Device]] = {}
    for device in agent.devices:
        by_type.setdefault(f"TYPE_{device.type.upper()}", []).append(device)
        by_brand.setdefault(device.brand, []).append(device)

    def count(devices: list[link.Device]) -> DeviceStats:
        used = Counter(f"STATE_{states[d.id]}" for d in devices if d.id in states)
        return DeviceStats(
            states=dict(used),
            draining=sum(_is_slot_draining(agent, d.id) for d in devices),
            disabled=sum(not _is_slot_on(agent, d.id) for d in devices),
            total=len(devices),
        )

    return SlotStats(
        type_stats={name: count(devices) for name, devices in by_type.items()},
        brand_stats={name: count(devices) for name, devices in by_brand.items()},
    )
