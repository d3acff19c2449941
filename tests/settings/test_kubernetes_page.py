"""The examples of the page on Kubernetes are settings of a master, and configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.domain.config.builders import LAYERS, submission
from tests.master_settings import read
from tests.pages import examples

from determined_master.domain.config.experiment import PoolLayer, build_experiment
from determined_master.settings.yaml_text import parse_yaml

EXAMPLES = [parse_yaml(text).value for text in examples("kubernetes.md")]
SETTINGS = [one for one in EXAMPLES if "resource_manager" in one]
CONFIGS = [one for one in EXAMPLES if "resource_manager" not in one]
LIMITS = {
    "allowed_host_paths": [],
    "allowed_capabilities": [],
    "allowed_devices": [],
    "allow_root": False,
}


def merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """An example that shows a part, with the rest of the first one."""
    found = dict(base)
    for key, value in more.items():
        inner = found.get(key)
        is_section = isinstance(inner, Mapping) and isinstance(value, Mapping)
        found[key] = merged(inner, value) if is_section else value
    return found


def test_the_page_has_examples_of_both_kinds() -> None:
    assert len(SETTINGS) >= 4
    assert len(CONFIGS) >= 2


@pytest.mark.parametrize("example", SETTINGS, ids=lambda one: ",".join(one["resource_manager"]))
def test_an_example_of_settings_is_read_without_a_warning(
    tmp_path: Path, example: dict[str, Any]
) -> None:
    whole = merged(SETTINGS[0], example)
    settings = read(tmp_path, json.dumps({**whole, "task_container_defaults": LIMITS}))
    assert settings.warnings == ()


@pytest.mark.parametrize("example", CONFIGS, ids=lambda one: ",".join(one))
def test_an_example_of_a_configuration_is_taken_without_a_warning(example: dict[str, Any]) -> None:
    layers = msgspec.structs.replace(LAYERS, pools={"default": PoolLayer(places_pods=True)})
    built = build_experiment(submission(**example), layers=layers, seed=1, name="x")
    assert built.warnings == ()
