"""Conversion of user values to JSON."""

from __future__ import annotations

import datetime
import decimal
import enum
import json
import pathlib
import uuid
from typing import Any

import numpy
import pytest

from determined.common._plain import NotSerializable, plain

UTC = datetime.timezone.utc


class Colour(enum.Enum):
    RED = 1


class Mine:
    def __json__(self) -> dict[str, Any]:
        return {"a": numpy.int64(1)}


class Meter:
    def __float__(self) -> float:
        return 0.25


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (numpy.float32(0.5), 0.5),
        (numpy.bool_(True), True),
        (numpy.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (numpy.array(float("nan")), "NaN"),
        (-float("inf"), "-Infinity"),
        ((1, {"a": None}), [1, {"a": None}]),
        (b"text", "text"),
        (Colour.RED, "RED"),
        (datetime.datetime(2026, 1, 2, tzinfo=UTC), "2026-01-02T00:00:00+00:00"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.5"), 1.5),
        (Meter(), 0.25),
        (Mine(), {"a": 1}),
    ],
)
def test_a_value_has_a_form(value: Any, form: Any) -> None:
    assert plain(value) == form


def test_keys_have_the_form_that_json_gives_them() -> None:
    keys: dict[Any, int] = {1: 0, 2.5: 0, False: 0, None: 0, "a": 0}
    assert json.loads(json.dumps(keys)) == plain(keys)


@pytest.mark.parametrize(
    "value", [object(), b"\xff", {1, 2}, lambda: 0, 1j, numpy.complex64(1j), pathlib.Path("a")]
)
def test_a_value_that_json_cannot_represent_is_named(value: Any) -> None:
    text = rf"JSON cannot represent a value of type .*\b{type(value).__qualname__}$"
    with pytest.raises(NotSerializable, match=text):
        plain([{"a": value}])
