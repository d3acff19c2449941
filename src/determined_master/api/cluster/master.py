"""The master about itself, and the pages at its root."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from determined_master.api.cluster.messages import shown_message
from determined_master.api.http.access import IN_SERVICE, SIGNED_IN
from determined_master.api.http.prefix import HEADER, path_prefix
from determined_master.api.http.routes import (
    ANONYMOUS,
    Call,
    Reply,
    plain_route,
    route,
    stream_route,
)
from determined_master.domain.errors import InvalidArgument
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.messages import ClusterMessages
from determined_master.services.cluster.user_storage import UserStorage
from determined_wire import own
from determined_wire.rest.master import (
    GetMasterConfigRequest,
    GetMasterConfigResponse,
    GetMasterRequest,
    GetMasterResponse,
    GetTelemetryRequest,
    GetTelemetryResponse,
    MasterLogsRequest,
    MasterLogsResponse,
    PatchMasterConfigRequest,
    PatchMasterConfigResponse,
)
from determined_wire.rest.types.log import LogEntry, LogLevel

LEVELS = {level.name.removeprefix("LOG_LEVEL_"): level for level in LogLevel}


@route(
    "GET",
    "/api/v1/master",
    access=SIGNED_IN,
    public="clients look at the version before the login",
)
async def get_master(
    call: Call, request: GetMasterRequest, master: Master, cluster_messages: ClusterMessages
) -> GetMasterResponse:
    """What clients need to know before they log in."""
    return await master_message(master, cluster_messages)


async def master_message(master: Master, cluster_messages: ClusterMessages) -> GetMasterResponse:
    """The facts that everybody may know, with the message that is shown now."""
    facts = master.facts
    return GetMasterResponse(
        version=facts.version,
        master_id=facts.master_id,
        cluster_id=facts.cluster_id,
        cluster_name=facts.cluster_name,
        branding="determined",
        feature_switches=facts.feature_switches,
        user_management_enabled=True,
        rbac_enabled=facts.shows_roles,
        has_custom_logo=facts.has_custom_logo,
        strict_job_queue_control=facts.is_queue_strict,
        cluster_message=shown_message(await cluster_messages.current()),
    )


@route("GET", "/api/v1/master/telemetry", access=SIGNED_IN)
async def get_telemetry(call: Call, request: GetTelemetryRequest) -> GetTelemetryResponse:
    """Whether the web interface reports its use: never."""
    return GetTelemetryResponse()


@route("GET", "/api/v1/master/config", access=IN_SERVICE)
async def get_master_config(
    call: Call, request: GetMasterConfigRequest, master: Master
) -> GetMasterConfigResponse:
    """All settings in force, secrets masked; for admins."""
    return GetMasterConfigResponse(config=master.config(call.caller))


@route("GET", "/api/v1/master/loop-stall", access=IN_SERVICE)
async def get_loop_stall(
    call: Call, request: own.GetLoopStallRequest, master: Master
) -> own.GetLoopStallResponse:
    """The longest stall of the event loop since the last question; for admins, ours."""
    stall = master.loop_stall(call.caller)
    return own.GetLoopStallResponse(longest_ms=stall.longest_s * 1000, watched_s=stall.watched_s)


@route("PATCH", "/api/v1/master/config", submission=True, access=IN_SERVICE)
async def patch_master_config(
    call: Call, request: PatchMasterConfigRequest, master: Master
) -> PatchMasterConfigResponse:
    """Change the log's level or colour until the master starts again; for admins."""
    log = request.config.log if request.config is not None else None
    changes: dict[str, Any] = {}
    for path in request.field_mask.paths if request.field_mask is not None else ():
        if path not in ("log", "log.level", "log.color"):
            raise InvalidArgument(
                f"unsupported or invalid field: {path}: only log.level and log.color can change"
            )
        if log is not None and path != "log.color":
            changes["level"] = log.level.name.removeprefix("LOG_LEVEL_").lower()
        if log is not None and path != "log.level":
            changes["color"] = log.color
    master.configure_log(call.caller, changes)
    return PatchMasterConfigResponse()


@stream_route("GET", "/api/v1/master/logs", MasterLogsResponse, access=IN_SERVICE)
async def master_logs(
    call: Call, request: MasterLogsRequest, master: Master
) -> AsyncIterator[Sequence[MasterLogsResponse]]:
    """Lines of the master's own log."""
    lines = master.read_log(
        call.caller, offset=request.offset, limit=request.limit, follow=request.follow
    )
    async for page in lines:
        yield [
            MasterLogsResponse(
                log_entry=LogEntry(
                    id=line.id,
                    message=line.message,
                    timestamp=line.at,
                    level=LEVELS.get(line.level, LogLevel.LOG_LEVEL_UNSPECIFIED),
                )
            )
            for line in page
        ]


@plain_route(
    "GET", "/info", access=SIGNED_IN, public="older clients look at the version before the login"
)
async def info(call: Call, master: Master) -> dict[str, Any]:
    """What every command of a client asks first."""
    facts = master.facts
    return {
        "version": facts.version,
        "master_id": facts.master_id,
        "cluster_id": facts.cluster_id,
        "cluster_name": facts.cluster_name,
        "telemetry": {"enabled": False, "otel_enabled": False, "otel_endpoint": ""},
        "sso_providers": None,
    }


@plain_route(
    "GET",
    "/health",
    access=SIGNED_IN,
    public="monitors have no login; details need a token",
    checks_token=True,
)
async def health(call: Call, master: Master, storage: UserStorage) -> Any:
    """Whether the master can work; only signed-in callers see the details, admins users' bytes."""
    found = await master.health()
    answer: dict[str, Any] = {"status": found.status}
    if call.caller is not ANONYMOUS:
        answer["database"] = found.database
        answer["resource_managers"] = [
            {"cluster_name": name, "status": found.status} for name in master.manager_names()
        ]
        if found.oldest_effect_age_s is not None:
            age_s = round(found.oldest_effect_age_s, 1)
            answer["effects"] = {"status": found.effects, "oldest_age_s": age_s}
        if call.caller.is_admin:
            users = [{"username": one.username, "bytes": one.bytes} for one in storage.large]
            answer["storage"] = {"status": "degraded" if users else "up", "users": users}
    return answer if found.status == "up" else Reply.of_json(answer, status=503)


@plain_route("GET", "/", access=SIGNED_IN, public="it leads to the web UI")
async def root(call: Call) -> Reply:
    """Send browsers to the web UI."""
    headers = (("location", f"{path_prefix(call.http)}/det"), ("vary", HEADER))
    return Reply(status=301, headers=headers)
