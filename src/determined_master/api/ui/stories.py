"""Routes of stories in plain words, read on from a cursor."""

from __future__ import annotations

import msgspec

from determined_master.api.http.access import on
from determined_master.api.http.routes import Call, route
from determined_master.api.ui.cursors import cursor_of, text_of
from determined_master.records.stories import StoryLine, ThingWithStory
from determined_master.services.experiments.story.stories import Items, Stories, request_of
from determined_master.services.experiments.story.story_texts import (
    level_of,
    plain_text,
    subject_of,
    user_of,
)
from determined_wire.ui import stories as wire


@route("GET", "/api/ui/v1/experiments/{id}/story", access=on("experiment", "id"))
async def experiment_items(
    call: Call, request: wire.GetItemsRequest, stories: Stories
) -> wire.GetItemsResponse:
    """What happened to an experiment, in plain words."""
    return await _items(call, "experiment", request, stories)


@route("GET", "/api/ui/v1/trials/{id}/story", access=on("trial", "id"))
async def trial_items(
    call: Call, request: wire.GetItemsRequest, stories: Stories
) -> wire.GetItemsResponse:
    """What happened to a trial and its attempts, in plain words."""
    return await _items(call, "trial", request, stories)


@route("GET", "/api/ui/v1/tasks/{id}/story", access=on("task", "id"))
async def task_items(
    call: Call, request: wire.GetItemsRequest, stories: Stories
) -> wire.GetItemsResponse:
    """What happened to a task and its attempts, in plain words."""
    return await _items(call, "task", request, stories)


async def _items(
    call: Call, kind: ThingWithStory, request: wire.GetItemsRequest, stories: Stories
) -> wire.GetItemsResponse:
    after = cursor_of("after", request.after) if request.after else None
    found = await stories.after(call.caller, kind, request.id, after, request.limit)
    failure = None
    if found.failure is not None:
        failure = wire.FailureCause(**msgspec.structs.asdict(found.failure))
    items = [_item(line, found) for line in found.lines]
    return wire.GetItemsResponse(
        items=items,
        next=items[-1].cursor if items else request.after,
        has_more=found.has_more,
        reason=found.reason,
        failure=failure,
    )


def _item(line: StoryLine, found: Items) -> wire.StoryItem:
    trial_id, user_id = found.trials.get(request_of(line), 0), user_of(line)
    return wire.StoryItem(
        cursor=text_of(line.cursor),
        at=line.at,
        kind=str(line.event.get("event", "")),
        subject=subject_of(line),
        text=plain_text(line, trial_id),
        trial_id=int(line.id) if line.kind == "trial" else trial_id,
        cause=f"user {found.users.get(user_id, user_id)}" if user_id else "",
        level=level_of(line),
    )
