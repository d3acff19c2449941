"""Hyperparameter spaces."""

from __future__ import annotations

from typing import Any

import msgspec


class Const(msgspec.Struct, frozen=True, tag_field="type", tag="const"):
    val: Any


class Int(msgspec.Struct, frozen=True, tag_field="type", tag="int"):
    minval: int
    maxval: int
    count: int | None = None


class Double(msgspec.Struct, frozen=True, tag_field="type", tag="double"):
    minval: float
    maxval: float
    count: int | None = None


class Log(msgspec.Struct, frozen=True, tag_field="type", tag="log"):
    minval: float
    maxval: float
    base: float
    count: int | None = None


class Categorical(msgspec.Struct, frozen=True, tag_field="type", tag="categorical"):
    vals: tuple[Any, ...]


class Nested(msgspec.Struct, frozen=True):
    children: dict[str, Hyperparameter]


Hyperparameter = Const | Int | Double | Log | Categorical | Nested
HyperparameterSpace = dict[str, Hyperparameter]
