"""YAML text of users (experiment-config 1; wire.md 10.3)."""

from __future__ import annotations

import math

import pytest
from tests.covers import covers

from determined_master.domain.errors import InvalidArgument
from determined_master.settings.yaml_text import MAX_CHARACTERS, parse_yaml


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4),
        ("1E3", 1000.0),
        ("012", 12),
        ("0o17", 15),
        ("0x1F", 31),
        ("-3", -3),
        ("1_000", 1000),
        ("true", True),
        ("FALSE", False),
        ("yes", "yes"),
        ("~", None),
        ("", None),
        ("2001-01-01", "2001-01-01"),
        ("1:30", "1:30"),
        ("'5'", "5"),
        ("!!str 5", "5"),
        (".inf", math.inf),
    ],
)
@covers("experiment-config 1.1")
def test_a_scalar_is_read_as_yaml_1_2_has_it(text: str, value: object) -> None:
    read = parse_yaml(f"x: {text}").value["x"]
    assert (read, type(read)) == (value, type(value))


@covers("experiment-config 1.1")
def test_keys_are_texts() -> None:
    assert parse_yaml("{1: a, true: b, n: c}").value == {"1": "a", "true": "b", "n": "c"}


def test_anchors_and_merges_are_followed() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: {<<: [*a, {z: 4}]}\n"
    value = parse_yaml(text).value
    assert value["b"] == {"x": 1, "y": 3}
    assert value["c"] == {"x": 1, "y": 2, "z": 4}


def test_the_1_1_directive_is_honoured() -> None:
    assert parse_yaml("%YAML 1.1\n---\na: yes\n").value == {"a": True}


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("a: 1\nb: 2\na: 3\n", 'line 3: key "a" is given twice, first in line 1'),
        ("x: {b: 1,\n b: 2}", 'line 2: key "b" is given twice, first in line 1'),
        ("a: [1,\n", "line 2: "),
        ("a: b: c", "line 1: mapping values"),
        ("a: 1\n---\nb: 1\n", "line 2: "),
        ("a: !!python/name:os.system x", "tag tag:yaml.org,2002:python/name:os.system is not"),
        ("a: *nope", "line 1: "),
        ("? [1]\n: 2", "line 1: a key must be a text"),
        ("a: &a [*a]", "nested more than 64 levels deep"),
        ("[" * 100 + "]" * 100, "nested more than 64 levels deep"),
        ("a: \x00", "unacceptable character"),
        ("a: " + "9" * 5000, "line 1: "),
        ("a: 0x" + "F" * 5000, 'line 1: "0xFFFF'),
        ("a: -0b" + "1" * 1025, '1111…" is too large: numbers go to 1.8e308'),
        ("a: {<<: 3}", "`<<` merges maps only"),
    ],
)
def test_invalid_yaml_is_refused_with_its_line(text: str, phrase: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        parse_yaml(text)
    assert str(caught.value).startswith("unable to convert yaml to json: ")
    assert phrase in str(caught.value)


@pytest.mark.slow
def test_a_small_text_that_stands_for_billions_of_values_is_refused() -> None:
    lines = ["a0: &a0 [1,1,1,1,1,1,1,1,1,1]"]
    lines += [f"a{i + 1}: &a{i + 1} [{','.join([f'*a{i}'] * 10)}]" for i in range(9)]
    with pytest.raises(InvalidArgument, match="more than 200,000 values"):
        parse_yaml("\n".join(lines))


def test_words_that_yaml_1_1_read_as_booleans_are_pointed_out_where_no_schema_can() -> None:
    text = "debug: yes\nhyperparameters:\n  augment: no\n  kept: 'no'\ndata: {x: [on]}\n"
    parsed = parse_yaml(text)
    assert parsed.value["hyperparameters"]["augment"] == "no"
    assert [w.split(" is")[0] for w in parsed.warnings] == ["line 3: `no`", "line 5: `on`"]


def test_a_text_that_is_too_long_is_refused_unread() -> None:
    assert parse_yaml("a: " + "x" * (MAX_CHARACTERS - 3)).value["a"][:1] == "x"
    with pytest.raises(InvalidArgument, match=f"at most {MAX_CHARACTERS} are read: put data into"):
        parse_yaml("[" * (MAX_CHARACTERS + 1))
