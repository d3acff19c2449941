"""The schema for editors."""

from __future__ import annotations

import json

from tests.domain.config.builders import build

from determined_master.domain.config.experiment_schema import json_schema


def test_the_schema_is_json_and_knows_every_stored_key() -> None:
    schema = json.loads(json.dumps(json_schema()))
    assert schema["additionalProperties"] is False
    assert build().config.keys() <= schema["properties"].keys()
    assert schema["properties"]["max_restarts"]["default"] == 5
