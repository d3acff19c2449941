"""Keys of a file of values that are there without a value, as after `security:` alone on a line.

Helm then takes the default away. The templates put it back, as the 0.38.1 chart does without it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.deploy.helm.rendering import CHART, refusal, render
from tools.generate_chart_defaults import defaults

pytestmark = pytest.mark.slow
SCHEMA = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS = YAML(typ="safe").load((CHART / "values.yaml").read_text())


def keys(
    schema: Mapping[str, Any], values: Any, at: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], bool]]:
    """Each key of the defaults: its path, and whether null is a value of it."""
    for key, value in values.items() if isinstance(values, Mapping) else ():
        property_ = schema.get("properties", {}).get(key)
        if property_ is not None:
            types = property_["type"]
            yield (*at, key), "null" in (types if isinstance(types, list) else [types])
            yield from keys(property_, value, (*at, key))


NEEDED = (("maxSlotsPerPod",), ("checkpointStorage", "hostPath"), ("allowPublicHttp",))
"""Checks of the chart ask for them by their names."""
KEYS = list(keys(SCHEMA, DEFAULTS))
SECTIONS = [key for key, value in DEFAULTS.items() if isinstance(value, dict)]


def values_of(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    values = value
    for key in reversed(path):
        values = {key: values}
    return {"maxSlotsPerPod": 1, **values}


def rendered(values: Mapping[str, Any], directory: Path) -> dict[tuple[str, str], Any]:
    return render({"maxSlotsPerPod": 1, "initialUserPassword": "Secret-123", **values}, directory)


def test_the_defaults_of_the_templates_are_those_of_the_values() -> None:
    """Otherwise run `make docs`."""
    assert YAML(typ="safe").load((CHART / "defaults.yaml").read_text()) == defaults(CHART)


@pytest.mark.parametrize("value", [None, {}])
@pytest.mark.parametrize("section", SECTIONS)
def test_an_empty_section_counts_as_absent(section: str, value: Any, tmp_path: Path) -> None:
    assert without_passwords(rendered({section: value}, tmp_path)) == without_passwords(
        rendered({}, tmp_path)
    )


def test_keys_without_values_count_as_absent_where_null_means_nothing(tmp_path: Path) -> None:
    values: dict[str, Any] = {}
    for path, is_nullable in KEYS:
        if not is_nullable and path not in NEEDED and not isinstance(default_of(path), dict):
            at = values
            for key in path[:-1]:
                at = at.setdefault(key, {})
            at[path[-1]] = None
    assert len(values) > 15
    assert without_passwords(rendered(values, tmp_path)) == without_passwords(
        rendered({}, tmp_path)
    )


def test_a_value_that_is_false_or_zero_stays(tmp_path: Path) -> None:
    text = rendered({"logColor": False, "db": {"keepVolume": False}}, tmp_path)[
        "Secret", "determined-master-config-r1"
    ]["stringData"]["master.yaml"]
    assert YAML(typ="safe").load(text)["log"]["color"] is False


def test_a_key_with_an_empty_text_is_named(tmp_path: Path) -> None:
    assert "imageRegistry" in refusal(values_of(("imageRegistry",), ""), tmp_path)


def test_every_key_for_which_null_is_a_value_may_have_it(tmp_path: Path) -> None:
    values: dict[str, Any] = {}
    for path, is_nullable in KEYS:
        if is_nullable and path not in NEEDED:
            at = values
            for key in path[:-1]:
                at = at.setdefault(key, {})
            at[path[-1]] = None
    assert render({"maxSlotsPerPod": 1, **values}, tmp_path)


def default_of(path: tuple[str, ...]) -> Any:
    value: Any = DEFAULTS
    for key in path:
        value = value[key]
    return value


def without_passwords(objects: dict[tuple[str, str], Any]) -> dict[tuple[str, str], Any]:
    """The objects without the passwords that each rendering makes at random."""
    return {key: one for key, one in objects.items() if key[1] != "determined-passwords-r1"}
