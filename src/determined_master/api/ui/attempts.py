"""Routes of attempts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master.api.http.access import FILTERED, on
from determined_master.api.http.routes import Call, route
from determined_master.services.tasks.attempts import Attempts
from determined_wire.ui import attempts as wire
from determined_wire.ui.stories import FailureCause

if TYPE_CHECKING:
    from determined_master.records.tasks import AttemptRow, ListedFailure


@route("GET", "/api/ui/v1/trials/{id}/attempts", access=on("trial", "id"))
async def get_trial_attempts(
    call: Call, request: wire.GetTrialAttemptsRequest, attempts: Attempts
) -> wire.GetTrialAttemptsResponse:
    """The starts of a trial: when, on which agents, and how each ended."""
    rows = await attempts.of_trial(call.caller, request.id)
    return wire.GetTrialAttemptsResponse(
        attempts=[_attempt(row) for row in rows],
        total=rows[0].total if rows else 0,
    )


@route("POST", "/api/ui/v1/failures", access=FILTERED, body="*")
async def get_failures(
    call: Call, request: wire.GetFailuresRequest, attempts: Attempts
) -> wire.GetFailuresResponse:
    """Why trials and experiments of a list failed, one sentence each."""
    trials, experiments = await attempts.failures(
        call.caller, request.trial_ids, request.experiment_ids
    )
    return wire.GetFailuresResponse(
        trials=[_failed(row) for row in trials], experiments=[_failed(row) for row in experiments]
    )


def _failed(row: ListedFailure) -> wire.FailedRow:
    return wire.FailedRow(**msgspec.structs.asdict(row))


def _attempt(row: AttemptRow) -> wire.TrialAttempt:
    values = msgspec.structs.asdict(row)
    failure, _, pool = values.pop("failure"), values.pop("total"), values.pop("pool")
    if failure is not None:
        values["failure"] = FailureCause(**msgspec.structs.asdict(failure))
    return wire.TrialAttempt(resource_pool=pool, **values)
