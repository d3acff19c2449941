"""How deep JSON may be nested."""

from __future__ import annotations

import json
from typing import Any

import pytest

from determined_master.domain.json_depth import MAX_DEPTH, is_too_deep


def nested(depth: int, *, with_lists: bool = False) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value, 2] if with_lists and level % 2 else {"a": value, "b": 2}
    return value


@pytest.mark.parametrize("with_lists", [False, True])
def test_the_limit_is_exact_in_lists_and_objects(with_lists: bool) -> None:
    for depth, told in ((MAX_DEPTH - 1, False), (MAX_DEPTH, False), (MAX_DEPTH + 1, True)):
        text = json.dumps(nested(depth, with_lists=with_lists)).encode()
        assert is_too_deep(text) is told, depth


TEXTS = ["{" * 300, "]" * 300, '\\"' * 300, '"{' * 150, "\\" * 301, '\\"{']


@pytest.mark.parametrize("name", TEXTS, ids=range(len(TEXTS)))
def test_brackets_in_texts_are_none(name: str) -> None:
    flat = [{name: name} for _ in range(300)]
    assert not is_too_deep(json.dumps(flat).encode())
    assert not is_too_deep(json.dumps({name: [flat, nested(MAX_DEPTH - 2)]}).encode())
    assert is_too_deep(json.dumps({name: [flat, nested(MAX_DEPTH - 1)]}).encode())


@pytest.mark.parametrize("text", [b"]" * 300, b"}{" * 300, b'"' + b"[" * 300, b""])
def test_invalid_json_is_left_to_its_reader(text: bytes) -> None:
    assert not is_too_deep(text)
