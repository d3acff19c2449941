"""Shared parts of the routes of commands, notebooks, shells and TensorBoards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from determined_master import clock
from determined_master.api.cluster.agents import shown_container
from determined_master.api.http.routes import Call
from determined_master.api.shapes import pagination
from determined_master.domain.config.shown_task import shown_task_config
from determined_master.domain.experiment.model_definition import ModelFile
from determined_master.domain.task.kinds import InteractiveKind
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import AgentSnapshot
from determined_master.records.tasks import InteractiveRow, ListedTask, TaskQuery
from determined_master.services.cluster.agents import Agents
from determined_master.services.containers.interactive_specs import PROGRAM
from determined_master.services.tasks.interactive_configs import InteractiveLaunch
from determined_master.services.tasks.interactive_tasks import SHOWN_FOR, InteractiveTasks
from determined_wire.proto import WireEnum
from determined_wire.rest.types.container import Container
from determined_wire.rest.types.shared import LaunchWarning, OrderBy, Pagination
from determined_wire.rest.types.task import TaskState
from determined_wire.rest.types.util import File

_SHOWN_STATES: Mapping[str | None, str] = {
    None: "QUEUED",
    "PENDING": "QUEUED",
    "ASSIGNED": "QUEUED",
    "TERMINATED": "TERMINATING",
}
"""The others are shown as they are; TERMINATED is a task whose end is stored."""


class ListRequest(Protocol):
    """The common part of requests for lists of every kind."""

    @property
    def sort_by(self) -> WireEnum: ...
    @property
    def order_by(self) -> OrderBy: ...
    @property
    def offset(self) -> int: ...
    @property
    def limit(self) -> int: ...
    @property
    def users(self) -> Sequence[str]: ...
    @property
    def user_ids(self) -> Sequence[int]: ...
    @property
    def workspace_id(self) -> int: ...


class LaunchRequest(Protocol):
    """The common part of requests to launch a task of any kind."""

    @property
    def config(self) -> Mapping[str, Any] | None: ...
    @property
    def template_name(self) -> str: ...
    @property
    def files(self) -> Sequence[File]: ...
    @property
    def workspace_id(self) -> int: ...


def launch_of(kind: InteractiveKind, request: LaunchRequest) -> InteractiveLaunch:
    """The launch in a request."""
    files = [
        ModelFile(path=f.path, type=f.type, content=f.content, mode=f.mode, mtime_s=int(f.mtime))
        for f in request.files
    ]
    return InteractiveLaunch(
        kind=kind,
        config=request.config or {},
        template=request.template_name,
        files=files,
        workspace_id=request.workspace_id,
    )


async def list_of(
    call: Call,
    kind: InteractiveKind,
    request: ListRequest,
    tasks: InteractiveTasks,
    agents: Agents,
    live: LiveAllocations,
) -> tuple[list[tuple[ListedTask, dict[str, Any]]], Pagination]:
    """Tasks that match a request, each with the fields that all kinds show; and the page."""
    sort = request.sort_by.name.removeprefix("SORT_BY_").lower()
    wanted = TaskQuery(
        kind=kind,
        ended_since=clock.now() - SHOWN_FOR,
        users=request.users,
        user_ids=request.user_ids,
        workspace_id=request.workspace_id,
        sort="id" if sort == "unspecified" else sort,
        descending=request.order_by is OrderBy.ORDER_BY_DESC,
        offset=request.offset,
        limit=request.limit,
    )
    found, page = await tasks.find(call.caller, wanted)
    by_id = {a.id: a for a in await agents.list_all(call.caller)}
    return [(row, _shown(row, by_id, live)) for row in found], pagination(page)


async def shown(
    call: Call, row: ListedTask, agents: Agents, live: LiveAllocations
) -> dict[str, Any]:
    """The fields that tasks of all kinds show."""
    by_id = {a.id: a for a in await agents.list_all(call.caller)}
    return _shown(row, by_id, live)


def shown_config(row: InteractiveRow) -> dict[str, Any]:
    """The configuration that a task runs by."""
    return shown_task_config(row.config, (*PROGRAM, row.kind.lower()))


def addresses_of(row: ListedTask, live: LiveAllocations) -> list[dict[str, Any]]:
    """Where the ports of its container are while it runs."""
    allocation = live.find(f"{row.id}.1")
    return [
        {
            "container_ip": container.host_ip,
            "container_port": port,
            "host_ip": container.host_ip,
            "host_port": host_port,
        }
        for container in (allocation.containers if allocation is not None else ())
        if container.state == "RUNNING"
        for port, host_port in container.ports
    ]


async def account_of(call: Call, row: ListedTask, agents: Agents, live: LiveAllocations) -> str:
    """The user that its agent runs all tasks as; empty where each task has its own.

    A task that is not placed yet shows the account that all agents of its pool agree on: clients
    before 0.39 log in by the response to the launch and do not ask again.
    """
    connected = await agents.list_all(call.caller)
    allocation = live.find(f"{row.id}.1")
    where = {c.agent_id for c in allocation.containers} if allocation is not None else set()
    accounts = {
        agent.account
        for agent in connected
        if (agent.id in where if where else agent.is_in(row.resource_pool))
    }
    return accounts.pop() if len(accounts) == 1 else ""


def warnings_of(*, exceeds_slots: bool) -> list[LaunchWarning]:
    """The warnings of a launch."""
    return [LaunchWarning.LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED] if exceeds_slots else []


def _shown(
    row: ListedTask, by_id: Mapping[str, AgentSnapshot], live: LiveAllocations
) -> dict[str, Any]:
    return {
        "id": row.id,
        "description": row.description,
        "state": TaskState[f"STATE_{_state(row)}"],
        "start_time": row.started_at,
        "container": _container(row, by_id, live),
        "display_name": row.display_name,
        "user_id": row.user_id,
        "username": row.username,
        "resource_pool": row.resource_pool,
        "exit_status": row.exit_status,
        "job_id": row.job_id,
        "workspace_id": row.workspace_id or 0,
    }


def _state(row: ListedTask) -> str:
    if row.state == "OVER":
        return "TERMINATED"
    known = row.allocation_state
    return _SHOWN_STATES.get(known, known or "QUEUED")


def _container(
    row: ListedTask, by_id: Mapping[str, AgentSnapshot], live: LiveAllocations
) -> Container | None:
    """Where it runs; None before it does and after."""
    allocation = live.find(f"{row.id}.1")
    if allocation is None:
        return None
    for container in allocation.containers:
        agent = by_id.get(container.agent_id)
        if agent is not None and container.state == "RUNNING":
            return shown_container(agent, container)
    return None
