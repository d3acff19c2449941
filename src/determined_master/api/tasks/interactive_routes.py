"""The five routes that commands, notebooks, shells and TensorBoards each have."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Concatenate

import msgspec

from determined_master.api.http.access import FILTERED, Need, Rule, maybe, on
from determined_master.api.http.endpoint_routes import endpoint_route
from determined_master.api.http.routes import Call, Route, services_of
from determined_master.api.http.task_use import READS, WORKS
from determined_master.api.shapes import add_config_warnings
from determined_master.api.tasks.interactive import (
    launch_of,
    list_of,
    shown,
    shown_config,
    warnings_of,
)
from determined_master.domain.config.shown_task import shown_task_config
from determined_master.domain.task.kinds import InteractiveKind
from determined_master.pools.live import LiveAllocations
from determined_master.records.access import InteractiveWord
from determined_master.records.tasks import InteractiveRow, ListedTask
from determined_master.services.cluster.agents import Agents
from determined_master.services.tasks.interactive_configs import PreparedTask
from determined_master.services.tasks.interactive_tasks import InteractiveTasks, Launched
from determined_wire.proto import Message

SERVICES = (InteractiveTasks, Agents, LiveAllocations)
"""Every function of these routes takes them, in this order."""
MoreFields = Callable[[Call, ListedTask, InteractiveTasks], dict[str, Any]]
MoreFieldsAlone = Callable[
    [Call, InteractiveRow, InteractiveTasks, Agents, LiveAllocations], Awaitable[dict[str, Any]]
]


class InteractiveTaskKind(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that differs between the kinds."""

    kind: InteractiveKind
    word: InteractiveWord
    """In paths, in names of routes and fields; its plural has an s."""
    message: type[Message]
    """One task in an answer."""
    starts_from: tuple[Need, ...] = ()
    """Things that a launch may name besides its template."""
    starts: str
    """The summary of the launch route in the API's document."""
    start: Callable[Concatenate[Call, Any, ...], Awaitable[Launched | PreparedTask]] | None = None
    """Starts the task of a request, or only prepares it; None for a plain launch.

    It may take services, as routes do.
    """
    more: MoreFields = lambda call, row, tasks: {}
    """Fields besides those of all kinds."""
    more_alone: MoreFieldsAlone | None = None
    """Fields that it shows only outside of lists."""


def routes_of_kind(kind: InteractiveTaskKind) -> tuple[Route, ...]:
    """Its routes: launch, list, get, kill, set the priority."""
    word, path = kind.word, f"/api/v1/{kind.word}s"
    one = f"{path}/{{{word}_id}}"
    make = _Handlers(kind)
    of_start = () if kind.start is None else services_of(kind.start, after=2)
    controls = on(word, f"{word}_id", "control", "task")
    over = f"{word.capitalize()}s that are not over, or not for over a day; a page of them."
    with_config = f"One {word} with its configuration."
    end = f"End a {word} at once; one that has ended does not change."
    prioritize = f"Give a {word} another priority in its queue, from 1 (the most urgent) to 99."
    return (
        _route(
            ("POST", path),
            make.launch,
            kind.starts,
            (maybe("template", "template_name"), *kind.starts_from),
            (*SERVICES, *of_start),
            is_launch=True,
        ),
        _route(("GET", path), make.find, over, FILTERED),
        _route(("GET", one), make.get, with_config, (on(word, f"{word}_id"),)),
        _route(("POST", f"{one}/kill"), make.kill, end, (controls,)),
        _route(("POST", f"{one}/set_priority"), make.set_priority, prioritize, (controls,)),
    )


class _Handlers:
    """The functions of a kind's routes; the names of message fields are made from its word."""

    def __init__(self, kind: InteractiveTaskKind) -> None:
        self._kind = kind

    async def launch(
        self,
        call: Call,
        request: Any,
        tasks: InteractiveTasks,
        agents: Agents,
        live: LiveAllocations,
        *of_start: Any,
    ) -> dict[str, Any]:
        kind = self._kind
        if kind.start is not None:
            started = await kind.start(call, request, *of_start)
        else:
            started = await tasks.launch(call.caller, launch_of(kind.kind, request))
        if isinstance(started, PreparedTask):
            shown_task, config = kind.message(), shown_task_config(started.built.config)
            add_config_warnings(call.http, started.built.warnings)
        else:
            add_config_warnings(call.http, started.warnings)
            shown_task = await self._show(call, started.row, tasks, agents, live)
            config = shown_config(started.row)
        warnings = warnings_of(exceeds_slots=started.exceeds_slots)
        return {kind.word: shown_task, "config": config, "warnings": warnings}

    async def find(
        self,
        call: Call,
        request: Any,
        tasks: InteractiveTasks,
        agents: Agents,
        live: LiveAllocations,
    ) -> dict[str, Any]:
        kind = self._kind
        found, page = await list_of(call, kind.kind, request, tasks, agents, live)
        shown_tasks = [
            kind.message(**fields, **kind.more(call, row, tasks)) for row, fields in found
        ]
        return {f"{kind.word}s": shown_tasks, "pagination": page}

    async def get(
        self,
        call: Call,
        request: Any,
        tasks: InteractiveTasks,
        agents: Agents,
        live: LiveAllocations,
    ) -> dict[str, Any]:
        kind = self._kind
        row = await tasks.get(call.caller, kind.kind, self._id(request))
        task = await self._show(call, row, tasks, agents, live)
        return {kind.word: task, "config": shown_config(row)}

    async def kill(
        self,
        call: Call,
        request: Any,
        tasks: InteractiveTasks,
        agents: Agents,
        live: LiveAllocations,
    ) -> dict[str, Any]:
        kind = self._kind
        row = await tasks.kill(call.caller, kind.kind, self._id(request))
        return {kind.word: await self._show(call, row, tasks, agents, live)}

    async def set_priority(
        self,
        call: Call,
        request: Any,
        tasks: InteractiveTasks,
        agents: Agents,
        live: LiveAllocations,
    ) -> dict[str, Any]:
        kind = self._kind
        row = await tasks.set_priority(call.caller, kind.kind, self._id(request), request.priority)
        task = await self._show(call, row, tasks, agents, live)
        return {kind.word: task}

    def _id(self, request: Any) -> str:
        return str(getattr(request, f"{self._kind.word}_id"))

    async def _show(
        self,
        call: Call,
        row: InteractiveRow,
        tasks: InteractiveTasks,
        agents: Agents,
        live: LiveAllocations,
    ) -> Message:
        kind = self._kind
        fields = await shown(call, row, agents, live) | kind.more(call, row, tasks)
        if kind.more_alone is not None:
            fields |= await kind.more_alone(call, row, tasks, agents, live)
        return kind.message(**fields)


def _route(
    target: tuple[str, str],
    act: Any,
    about: str,
    access: Rule,
    services: tuple[type[Any], ...] = SERVICES,
    *,
    is_launch: bool = False,
) -> Route:
    """Code in tasks may call all of them, as scripts in notebooks do."""
    return endpoint_route(
        target,
        about,
        act,
        services,
        access=access,
        has_large_body=is_launch,
        is_submission=is_launch,
        starts_work=is_launch,
        in_task=READS if target[0] == "GET" else WORKS,
    )
