"""Routes of users' activity: the projects that they opened last."""

from __future__ import annotations

from determined_master.api.http.access import FILTERED, on
from determined_master.api.http.routes import Call, route
from determined_master.api.workspaces.projects import project_message
from determined_master.domain.errors import InvalidArgument
from determined_master.services.workspaces.visits import ProjectVisits
from determined_wire.rest import users as wire
from determined_wire.rest.types.user import ActivityType, EntityType


@route("POST", "/api/v1/users/activity", access=on("project", "entity_id"))
async def post_user_activity(
    call: Call, request: wire.PostUserActivityRequest, project_visits: ProjectVisits
) -> wire.PostUserActivityResponse:
    """Note that the caller has opened a project."""
    if request.activity_type is not ActivityType.ACTIVITY_TYPE_GET:
        raise InvalidArgument("activityType must be ACTIVITY_TYPE_GET")
    if request.entity_type is not EntityType.ENTITY_TYPE_PROJECT:
        raise InvalidArgument("entityType must be ENTITY_TYPE_PROJECT")
    await project_visits.record(call.caller, request.entity_id)
    return wire.PostUserActivityResponse()


@route("GET", "/api/v1/user/projects/activity", access=FILTERED)
async def get_projects_by_user_activity(
    call: Call, request: wire.GetProjectsByUserActivityRequest, project_visits: ProjectVisits
) -> wire.GetProjectsByUserActivityResponse:
    """The projects that the caller opened last."""
    rows = await project_visits.list_last(call.caller, request.limit)
    return wire.GetProjectsByUserActivityResponse(projects=[project_message(r) for r in rows])
