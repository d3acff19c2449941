"""Routes for machines that have no agent yet: they show the token of their pool."""

from __future__ import annotations

from typing import Annotated

import msgspec

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.plain import plain_json
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.domain.machines.starts import MAX_DETAIL, MachineStart, StartStep
from determined_master.services.cluster.join_tokens import JoinTokens
from determined_master.services.cluster.machine_starts import MachineStarts
from determined_master.services.containers.agent_packages import AgentPackages
from determined_master.services.containers.agent_wheel import AgentWheel

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class StartReport(msgspec.Struct, frozen=True):
    """The body of a report."""

    pool: Name
    agent_id: Name
    step: StartStep
    failed: bool = False
    detail: Annotated[str, msgspec.Meta(max_length=MAX_DETAIL)] = ""


@plain_route("POST", "/agents/starts", access=SIGNED_IN, authenticates=True)
async def report_start(
    call: Call, machine_starts: MachineStarts, join_tokens: JoinTokens
) -> dict[str, str]:
    """How far a machine has come with its start."""
    pool = join_tokens.pool_of(call.http.authorization)
    report = await plain_json(call, StartReport)
    start = MachineStart(step=report.step, detail=report.detail, has_failed=report.failed)
    await machine_starts.report(report.pool, report.agent_id, start, shown_for=pool)
    return {}


@plain_route(
    "GET", "/agent/wheel", access=SIGNED_IN, authenticates=True, produces="application/zip"
)
async def agent_wheel(call: Call, wheels: AgentWheel, join_tokens: JoinTokens) -> Reply:
    """A wheel of the agent, of this master's version."""
    join_tokens.pool_of(call.http.authorization)
    wheel = await wheels.wheel()
    return Reply(
        body=wheel.content,
        content_type="application/zip",
        headers=(("content-disposition", f'attachment; filename="{wheel.name}"'),),
    )


@plain_route(
    "GET", "/agent/packages", access=SIGNED_IN, authenticates=True, produces="application/x-tar"
)
async def agent_packages(call: Call, packages: AgentPackages, join_tokens: JoinTokens) -> Reply:
    """What that wheel needs, from the setting `wheelhouse`; without it an empty archive."""
    join_tokens.pool_of(call.http.authorization)
    return Reply(body=await packages.archive(), content_type="application/x-tar")
