"""Routes of stories: what happened, when and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.records.stories import StoryLine, ThingWithStory
from determined_master.services.experiments.story.stories import Stories, request_of
from determined_master.services.experiments.story.story_texts import short_text
from determined_wire import own
from determined_wire.rest.types.shared import Pagination


@route("GET", "/api/v1/trials/{id}/story", access=on("trial", "id"), in_task=READS)
async def trial_story(
    call: Call, request: own.GetStoryRequest, stories: Stories
) -> own.GetStoryResponse:
    """What happened to a trial and its allocations."""
    return await _story(call, "trial", request, stories)


@route("GET", "/api/v1/experiments/{id}/story", access=on("experiment", "id"), in_task=READS)
async def experiment_story(
    call: Call, request: own.GetStoryRequest, stories: Stories
) -> own.GetStoryResponse:
    """What happened to an experiment."""
    return await _story(call, "experiment", request, stories)


@route("GET", "/api/v1/allocations/{id}/story", access=on("allocation", "id"), in_task=READS)
async def allocation_story(
    call: Call, request: own.GetStoryRequest, stories: Stories
) -> own.GetStoryResponse:
    """What happened to an allocation."""
    return await _story(call, "allocation", request, stories)


async def _story(
    call: Call, kind: ThingWithStory, request: own.GetStoryRequest, stories: Stories
) -> own.GetStoryResponse:
    story = await stories.read(
        call.caller, kind, request.id, offset=request.offset, limit=request.limit
    )
    return own.GetStoryResponse(
        lines=[_line(line, story.trials, request.is_verbose) for line in story.lines],
        pagination=Pagination(
            offset=request.offset,
            limit=request.limit,
            start_index=request.offset,
            end_index=request.offset + len(story.lines),
            total=story.total,
        ),
        reason=story.reason,
        config_changes=story.config_changes,
    )


def _line(line: StoryLine, trials: Mapping[str, int], is_verbose: bool) -> own.StoryLine:
    trial_id = trials.get(request_of(line), 0)
    detail: dict[str, Any] = {k: v for k, v in line.event.items() if k != "event"}
    return own.StoryLine(
        at=line.at,
        aggregate=f"{line.kind} {line.id}",
        version=line.version,
        cause=line.cause,
        event=str(line.event.get("event", "")),
        detail=detail,
        effects=[str(effect.get("effect", effect)) for effect in line.effects],
        trial_id=trial_id,
        text=short_text(line, trial_id, is_verbose=is_verbose),
    )
