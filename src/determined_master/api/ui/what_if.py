"""Routes of what-if: a pool's recorded queue under other rules."""

from __future__ import annotations

from determined_master.api.http.access import IN_SERVICE
from determined_master.api.http.routes import Call, route
from determined_master.api.shapes import struct_of
from determined_master.services.queue.what_if import Variant, VariantOutcome, WhatIf
from determined_wire.ui import overview as wire


@route("POST", "/api/ui/v1/pools/{resource_pool_name}/what-if", access=IN_SERVICE, body="*")
async def post_what_if(
    call: Call, request: wire.PostWhatIfRequest, what_if: WhatIf
) -> wire.PostWhatIfResponse:
    """Simulate the recorded queue of a pool under other rules or with other agents."""
    variants = [Variant(one.policy, one.agents) for one in request.variants]
    found = await what_if.compare(call.caller, request.resource_pool_name, request.hours, variants)
    outcomes = [_outcome(one) for one in found.outcomes]
    return struct_of(wire.PostWhatIfResponse, found, outcomes=outcomes)


def _outcome(one: VariantOutcome) -> wire.WhatIfOutcome:
    if one.result is None:
        return wire.WhatIfOutcome(policy=one.policy, agents=one.agents, error=one.error)
    return struct_of(wire.WhatIfOutcome, one.result, policy=one.policy, agents=one.agents)
