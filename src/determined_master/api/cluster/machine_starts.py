"""The route to which machines on demand report their start."""

from __future__ import annotations

from typing import Annotated

import msgspec

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.plain import plain_json
from determined_master.api.http.routes import Call, plain_route
from determined_master.domain.machines.starts import MAX_DETAIL, MachineStart, StartStep
from determined_master.services.cluster.machine_starts import MachineStarts

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=255)]


class StartReport(msgspec.Struct, frozen=True):
    """The body of a report."""

    pool: Name
    agent_id: Name
    step: StartStep
    failed: bool = False
    detail: Annotated[str, msgspec.Meta(max_length=MAX_DETAIL)] = ""


@plain_route("POST", "/agents/starts", access=SIGNED_IN, authenticates=True)
async def report_start(call: Call, machine_starts: MachineStarts) -> dict[str, str]:
    """How far a machine has come with its start; it shows the agents' join token."""
    machine_starts.check_token(call.http.authorization.removeprefix(b"Bearer "))
    report = await plain_json(call, StartReport)
    start = MachineStart(step=report.step, detail=report.detail, has_failed=report.failed)
    await machine_starts.report(report.pool, report.agent_id, start)
    return {}
