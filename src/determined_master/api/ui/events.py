"""Route of the cluster's events."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.api.ui.cursors import cursor_of, text_of
from determined_master.records.events import EventLine
from determined_master.services.experiments.story.story_texts import level_of, plain_text
from determined_master.services.history.events import EventRequest, Events, FoundEvents, actor_of
from determined_wire.ui import events as wire


@route("GET", "/api/ui/v1/events", access=FILTERED)
async def get_events(
    call: Call, request: wire.GetEventsRequest, events: Events
) -> wire.GetEventsResponse:
    """What happened in the cluster, as far as the caller sees it, the newest first."""
    wanted = struct_of(
        EventRequest,
        request,
        before=cursor_of("before", request.before) if request.before else None,
    )
    found = await events.read(call.caller, wanted)
    return wire.GetEventsResponse(
        events=[_event(one, found) for one in found.lines],
        next=text_of(found.next) if found.next else "",
        has_more=found.next is not None,
        searched_to=found.searched_to,
    )


def _event(one: EventLine, found: FoundEvents) -> wire.ClusterEvent:
    user_id = actor_of(one)
    return wire.ClusterEvent(
        cursor=text_of(one.line.cursor),
        at=one.line.at,
        kind=str(one.line.event.get("event", "")),
        text=plain_text(one.line),
        level=level_of(one.line),
        user_id=user_id,
        username=found.users.get(user_id, ""),
        thing=wire.EventThing(
            kind=one.thing_kind,
            id=one.thing_id,
            name=one.thing_name,
            experiment_id=one.experiment_id,
            trial_id=one.trial_id,
            workspace_id=one.workspace_id,
        ),
    )
