"""JSON Schemas of what users write, for their editors."""

from __future__ import annotations

from functools import cache

import msgspec

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.api.http.task_use import READS
from determined_master.domain.config.experiment_schema import json_schema


@plain_route("GET", "/api/v1/schemas/experiment-config", access=SIGNED_IN, in_task=READS)
async def experiment_config_schema(call: Call) -> Reply:
    """A JSON Schema of experiment configurations, for editors."""
    return Reply(_experiment_config(), content_type="application/schema+json")


@cache
def _experiment_config() -> bytes:
    return msgspec.json.format(msgspec.json.encode(json_schema()), indent=1)
