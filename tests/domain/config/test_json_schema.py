"""The schema for editors."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft7Validator
from tests.domain.config.builders import ASHA, build, problems, submission
from tests.domain.config.test_stored_form import submissions

from determined_master.domain.config.experiment_schema import json_schema

SCHEMA = json.loads(json.dumps(json_schema()))
VALIDATOR = Draft7Validator(SCHEMA)


def refused(config: Any) -> list[str]:
    """Where an editor would draw its lines."""
    return [".".join(map(str, error.path)) for error in VALIDATOR.iter_errors(config)]


def test_the_schema_is_one_and_knows_every_stored_key() -> None:
    Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["additionalProperties"] is False
    assert build().config.keys() <= SCHEMA["properties"].keys()
    assert SCHEMA["properties"]["max_restarts"]["default"] == 5


@settings(max_examples=25, deadline=None)
@given(submissions)
def test_valid_keys_pass_the_schema(overrides: dict[str, Any]) -> None:
    overrides = json.loads(json.dumps(overrides).replace('{"type": "exclude_node"}', "null"))
    if not problems(**overrides):  # its older forms are read but not known to editors
        assert refused(submission(**overrides)) == []


@pytest.mark.parametrize("searcher", [ASHA, {"name": "asha", "metric": "x"}, {}, None])
def test_stored_configurations_pass_the_schema(searcher: Any) -> None:
    assert refused({**build().config, "searcher": searcher}) == []


@pytest.mark.parametrize(
    ("overrides", "path"),
    [
        ({"max_restarts": -1}, "max_restarts"),
        ({"max_restart": 1}, ""),
        ({"searcher": {"name": "zip"}}, "searcher"),
        ({"searcher": {"name": "single", "max_trials": 1}}, "searcher"),
        ({"hyperparameters": {"x": {"type": "int", "minval": 0}}}, "hyperparameters"),
        ({"hyperparameters": {"g": {"x": {"type": "zip"}}}}, "hyperparameters"),
        ({"debug": "yes"}, "debug"),
        ({"internal": {}}, "internal"),
        ({"checkpoint_storage": {"type": "s3", "buket": "x"}}, "checkpoint_storage"),
        ({"version": 1}, "version"),
    ],
)
def test_a_mistake_has_a_line_drawn_under_its_section(overrides: Any, path: str) -> None:
    assert refused(submission(**overrides)) == [path]
