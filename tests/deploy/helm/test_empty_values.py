"""Keys of a file of values that are there without a value, as after `security:` alone on a line.

Helm then takes the default away, so that templates read keys of nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.deploy.helm.rendering import CHART, refusal, render

pytestmark = pytest.mark.slow
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS = YAML(typ="safe").load((CHART / "values.yaml").read_text())


def keys(
    schema: Mapping[str, Any], values: Any, at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], bool, bool]]:
    """Each key of the defaults: path, whether null is a value of it, whether it is required."""
    for key, value in values.items() if isinstance(values, Mapping) else ():
        known = schema.get("properties", {}).get(key)
        if known is not None:
            types = known["type"] if isinstance(known["type"], list) else [known["type"]]
            yield (*at, key), "null" in types, key in schema.get("required", ())
            yield from keys(known, value, (*at, key))


NEEDED = (("maxSlotsPerPod",), ("checkpointStorage", "hostPath"))
"""Checks of the chart ask for them by their names."""
KEYS = list(keys(SCHEMA, DEFAULTS))


def values_of(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    found = value
    for key in reversed(path):
        found = {key: found}
    return {"maxSlotsPerPod": 1, **found}


def test_the_schema_requires_every_key_that_has_no_meaning_without_a_value() -> None:
    assert len(KEYS) > 120
    assert [path for path, is_nullable, is_required in KEYS if is_nullable == is_required] == []


@pytest.mark.parametrize("path", [("security",), ("master",), ("db", "user"), ("rbac", "create")])
def test_a_key_without_a_value_is_named(path: tuple[str, ...], tmp_path: Path) -> None:
    assert f"{path[-1]} is required" in refusal(values_of(path, None), tmp_path)


def test_every_key_for_which_null_is_a_value_may_have_it(tmp_path: Path) -> None:
    given: dict[str, Any] = {}
    for path, is_nullable, _ in KEYS:
        if is_nullable and path not in NEEDED:
            at = given
            for key in path[:-1]:
                at = at.setdefault(key, {})
            at[path[-1]] = None
    assert render({"maxSlotsPerPod": 1, **given}, tmp_path)
