"""Reading config files and setting their keys from the command line."""

from __future__ import annotations

import pytest
from tests.covers import covers

from determined.common import config_text


def overridden(text: str, *settings: str) -> object:
    config = config_text.load(text, "c.yaml")
    config_text.override(config, settings)
    return config_text.load(config_text.dump(config), "again")


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("k=3", 3),
        ("k=1e-4", 1e-4),
        ("k=true", True),
        ("k=yes", "yes"),
        ("k=", None),
        ("k=a,b", ["a", "b"]),
        ("k=1,2", [1, 2]),
        ("k=[1, x]", [1, "x"]),
        ('k={"a": [1]}', {"a": [1]}),
        ('k="a,b"', "a,b"),
        ("k=a=b", "a=b"),
    ],
)
@covers("experiment-config 18.overrides")
def test_a_value_has_the_type_it_is_written_in(setting: str, value: object) -> None:
    assert overridden("x: 1\n", setting) == {"x": 1, "k": value}


@covers("experiment-config 18.overrides")
def test_dots_name_nested_keys_and_keep_their_neighbours() -> None:
    found = overridden("a:\n  b: 1\n  c: 2\n", "a.b=3", "d.e.f=4")
    assert found == {"a": {"b": 3, "c": 2}, "d": {"e": {"f": 4}}}


@covers("experiment-config 18.overrides")
def test_keys_that_hold_lists_take_a_single_value_too() -> None:
    mount = "bind_mounts={host_path: /a, container_path: b}"
    found = overridden("x: 1\n", mount, "environment.environment_variables=A=1")
    assert found == {
        "x": 1,
        "bind_mounts": [{"host_path": "/a", "container_path": "b"}],
        "environment": {"environment_variables": ["A=1"]},
    }


@pytest.mark.parametrize("setting", ["novalue", "=3", "a..b=3", "a.=3", ".a=3"])
@covers("experiment-config 18.overrides")
def test_a_setting_without_key_and_value_is_refused(setting: str) -> None:
    with pytest.raises(config_text.ConfigTextError, match="not of the form key=value"):
        overridden("x: 1\n", setting)


def test_an_invalid_yaml_value_is_refused_with_its_cause() -> None:
    with pytest.raises(config_text.ConfigTextError) as caught:
        overridden("x: 1\n", "bind_mounts=[{a: 1}")
    assert str(caught.value) == (
        "--config 'bind_mounts=[{a: 1}': expected ',' or ']', but got '<stream end>'"
    )


def test_a_key_inside_a_plain_value_is_refused_by_name() -> None:
    with pytest.raises(config_text.ConfigTextError, match="'a' holds a value"):
        overridden("a: 1\n", "a.b=2")


def test_a_key_given_twice_names_both_lines() -> None:
    text = "name: x\nsearcher:\n  name: single\n  metric: a\n  name: grid\n"
    with pytest.raises(config_text.ConfigTextError) as caught:
        config_text.load(text, "c.yaml")
    assert "name" in str(caught.value)
    assert "lines 3 and 5" in str(caught.value)


def test_comments_and_order_stay() -> None:
    config = config_text.load("# one\nb: 1 # two\na: 2\n", "c.yaml")
    config_text.override(config, ["a=3"])
    assert config_text.dump(config) == "# one\nb: 1 # two\na: 3\n"
