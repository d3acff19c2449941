"""Routes of task logs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from datetime import datetime
from typing import Annotated, Protocol

import msgspec

from determined_master.api.http.access import IN_SERVICE, of_task, on
from determined_master.api.http.plain import plain_json
from determined_master.api.http.protojson import refuse
from determined_master.api.http.routes import Call, plain_route, route, stream_route
from determined_master.api.http.task_use import READS, REPORTS
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.log_lines import LEVEL_NUMBERS, LEVELS, render
from determined_master.records.logs import LogFilter, LogRow
from determined_master.services.experiments.trials import Trials
from determined_master.services.logs.incoming import PostedLine
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.services.tasks.service import Tasks
from determined_wire.bounds import TEXT, bound_of
from determined_wire.rest import tasks as task_wire
from determined_wire.rest import trials as trial_wire
from determined_wire.rest.types.log import LogLevel
from determined_wire.rest.types.shared import OrderBy
from determined_wire.rest.types.task import TaskLog

LINES = bound_of("PostTaskLogsRequest", "logs")
WIRE_LEVELS = [LogLevel[f"LOG_LEVEL_{name}"] for name in LEVELS]


@route(
    "POST",
    "/api/v1/task/logs",
    large_body=True,
    access=on("task", "logs.task_id", "report", "task"),
    task=of_task("logs.task_id", "task_id"),
    in_task=REPORTS,
)
async def post_task_logs(
    call: Call, request: task_wire.PostTaskLogsRequest, task_logs: TaskLogs
) -> task_wire.PostTaskLogsResponse:
    """Lines of one task; answered when they are durable."""
    await task_logs.post(
        call.caller,
        [_posted_line(entry, (entry.level or WIRE_LEVELS[0]).number) for entry in request.logs],
    )
    return task_wire.PostTaskLogsResponse()


def _posted_line(entry: TaskLog | PlainLine, level: int) -> PostedLine:
    # Field by field: by names it takes eight times as long, and a request has a thousand.
    return PostedLine(
        task_id=entry.task_id,
        log=entry.log,
        at=entry.timestamp,
        allocation_id=entry.allocation_id,
        agent_id=entry.agent_id,
        container_id=entry.container_id,
        rank_id=entry.rank_id,
        level=level,
        source=entry.source,
        stdtype=entry.stdtype,
    )


Text = Annotated[str, msgspec.Meta(max_length=TEXT.items)]


class PlainLine(msgspec.Struct):
    """One line as agents of 0.38.1 post it."""

    task_id: Text
    log: str
    timestamp: datetime | None = None
    allocation_id: Text | None = None
    agent_id: Text | None = None
    container_id: Text | None = None
    rank_id: int | None = None
    level: Text | None = None
    source: Text | None = None
    stdtype: Text | None = None


@plain_route("POST", "/task-logs", access=IN_SERVICE, large_body=True, in_task=REPORTS)
async def post_plain_task_logs(call: Call, task_logs: TaskLogs) -> str:
    """The same as a plain list whose levels are bare words."""
    entries = await plain_json(call, list[PlainLine])
    if len(entries) > LINES.items:
        raise refuse("logs", len(entries), LINES)
    await task_logs.post(
        call.caller, [_posted_line(entry, _level_number(entry.level)) for entry in entries]
    )
    return ""


@stream_route(
    "GET",
    "/api/v1/trials/{trial_id}/logs",
    trial_wire.TrialLogsResponse,
    access=on("trial", "trial_id", "read", "checkpoint"),
    in_task=READS,
)
async def trial_logs(
    call: Call, request: trial_wire.TrialLogsRequest, trials: Trials, task_logs: TaskLogs
) -> AsyncIterator[Sequence[trial_wire.TrialLogsResponse]]:
    """Lines of all of a trial's tasks."""
    task_ids = await trials.task_ids(call.caller, request.trial_id)
    async for page in _pages(call, task_ids, _filter(request), request, task_logs):
        yield [
            trial_wire.TrialLogsResponse(
                id=str(row.id),
                timestamp=row.logged_at,
                message=_message(row),
                level=WIRE_LEVELS[row.level],
                trial_id=request.trial_id,
                agent_id=row.agent_id,
                container_id=row.container_id,
                rank_id=row.rank_id,
                log=row.log,
                source=row.source,
                stdtype=row.stdtype,
            )
            for row in page
        ]


@stream_route(
    "GET",
    "/api/v1/tasks/{task_id}/logs",
    task_wire.TaskLogsResponse,
    access=on("task", "task_id"),
    in_task=READS,
)
async def task_logs(
    call: Call, request: task_wire.TaskLogsRequest, tasks: Tasks, task_logs: TaskLogs
) -> AsyncIterator[Sequence[task_wire.TaskLogsResponse]]:
    """Lines of one task."""
    await tasks.get(call.caller, request.task_id)
    wanted = _filter(request, tuple(request.allocation_ids))
    async for page in _pages(call, [request.task_id], wanted, request, task_logs):
        yield [task_line(row) for row in page]


def task_line(row: LogRow) -> task_wire.TaskLogsResponse:
    """A line as its task shows it."""
    return task_wire.TaskLogsResponse(
        id=str(row.id),
        timestamp=row.logged_at,
        message=_message(row),
        level=WIRE_LEVELS[row.level],
        task_id=row.task_id,
        allocation_id=row.allocation_id,
        agent_id=row.agent_id,
        container_id=row.container_id,
        rank_id=row.rank_id,
        log=row.log,
        source=row.source,
        stdtype=row.stdtype,
    )


@stream_route(
    "GET",
    "/api/v1/trials/{trial_id}/logs/fields",
    trial_wire.TrialLogsFieldsResponse,
    access=on("trial", "trial_id", "read", "checkpoint"),
    in_task=READS,
)
async def trial_logs_fields(
    call: Call, request: trial_wire.TrialLogsFieldsRequest, trials: Trials, task_logs: TaskLogs
) -> AsyncIterator[trial_wire.TrialLogsFieldsResponse]:
    """Values that a trial's lines can be filtered by."""
    task_ids = await trials.task_ids(call.caller, request.trial_id)
    async for fields in task_logs.fields(call.caller, task_ids, follow=request.follow):
        fields = {name: fields[name] for name in fields if name != "allocation_ids"}
        yield trial_wire.TrialLogsFieldsResponse(**fields)


@stream_route(
    "GET",
    "/api/v1/tasks/{task_id}/logs/fields",
    task_wire.TaskLogsFieldsResponse,
    access=on("task", "task_id"),
    in_task=READS,
)
async def task_logs_fields(
    call: Call, request: task_wire.TaskLogsFieldsRequest, tasks: Tasks, task_logs: TaskLogs
) -> AsyncIterator[task_wire.TaskLogsFieldsResponse]:
    """Values that a task's lines can be filtered by."""
    await tasks.get(call.caller, request.task_id)
    found = task_logs.fields(call.caller, [request.task_id], follow=request.follow)
    async for fields in found:
        yield task_wire.TaskLogsFieldsResponse(**fields)


class _Asked(Protocol):
    """The common part of both kinds of requests for lines."""

    @property
    def limit(self) -> int: ...
    @property
    def follow(self) -> bool: ...
    @property
    def order_by(self) -> OrderBy: ...


async def _pages(
    call: Call, task_ids: Sequence[str], wanted: LogFilter, request: _Asked, task_logs: TaskLogs
) -> AsyncIterator[list[LogRow]]:
    newest_first = request.order_by is OrderBy.ORDER_BY_DESC
    if request.limit < 0:
        return
    logs = task_logs
    if not request.follow:
        pages = logs.read(
            call.caller, task_ids, wanted, limit=request.limit, newest_first=newest_first
        )
    elif newest_first:
        raise InvalidArgument("lines cannot be followed newest first: drop follow or the order")
    else:
        pages = logs.follow(call.caller, task_ids, wanted, limit=request.limit)
    async for page in pages:
        yield page


def _filter(
    request: trial_wire.TrialLogsRequest | task_wire.TaskLogsRequest,
    allocation_ids: tuple[str, ...] = (),
) -> LogFilter:
    return LogFilter(
        levels=tuple(level.number for level in request.levels),
        sources=tuple(request.sources),
        stdtypes=tuple(request.stdtypes),
        agent_ids=tuple(request.agent_ids),
        container_ids=tuple(request.container_ids),
        allocation_ids=allocation_ids,
        rank_ids=tuple(request.rank_ids),
        search_text=request.search_text,
        is_regex=request.enable_regex,
        after=request.timestamp_after,
        before=request.timestamp_before,
    )


def _level_number(word: str | None) -> int:
    if not word:
        return 0
    number = LEVEL_NUMBERS.get(word.upper())
    if number is None:
        raise InvalidArgument(f"level is {word!r}: it must be one of {', '.join(LEVELS)}")
    return number


def _message(row: LogRow) -> str:
    return render(row.logged_at, row.container_id, row.rank_id, row.level, row.log)
