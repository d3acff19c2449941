"""Hyperparameter spaces: a tree of named ranges, choices and constants.

A map with a key `type` is a range or a choice, a map without one is a group, and anything else
is a constant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.schema.containers import Field, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import (
    Anything,
    Integer,
    Number,
    OneOf,
    Text,
    ValueType,
    expected,
)


class Const(msgspec.Struct, frozen=True, tag_field="type", tag="const"):
    """One value for all trials."""

    val: Any


class Int(msgspec.Struct, frozen=True, tag_field="type", tag="int"):
    """Whole numbers, both ends included."""

    minval: int
    maxval: int
    count: int | None = None
    """Points on the axis of a grid; at least 1."""


class Double(msgspec.Struct, frozen=True, tag_field="type", tag="double"):
    """Numbers from `minval` to `maxval`."""

    minval: float
    maxval: float
    count: int | None = None


class LogScale(msgspec.Struct, frozen=True, tag_field="type", tag="log"):
    """`base` to the power of a number from `minval` to `maxval`."""

    minval: float
    maxval: float
    base: float
    count: int | None = None


class Categorical(msgspec.Struct, frozen=True, tag_field="type", tag="categorical"):
    """One of a set of values."""

    vals: tuple[Any, ...]


class Nested(msgspec.Struct, frozen=True):
    """A group of hyperparameters."""

    children: dict[str, Hyperparameter]


Hyperparameter = Const | Int | Double | LogScale | Categorical | Nested
HyperparameterSpace = dict[str, Hyperparameter]
GROUP_NAME = "hyperparameters"
"""The name of a group's definition in the JSON Schema, which refers to itself."""

MIN_RATIO_OF_VALUES = 5
"""Exponents between 0 and 1 that differ by this factor are likely the values themselves."""

_RANGES: dict[str, type[Int | Double | LogScale]] = {"int": Int, "double": Double, "log": LogScale}


def typed_space(config: Mapping[str, Any]) -> HyperparameterSpace:
    """The typed form of a canonical `hyperparameters` section."""
    return {name: _typed(spec) for name, spec in config.items()}


def _typed(spec: Mapping[str, Any]) -> Hyperparameter:
    match spec.get("type"):
        case None:
            return Nested(typed_space(spec))
        case "const":
            return Const(spec.get("val"))
        case "categorical":
            return Categorical(tuple(spec["vals"]))
        case name:
            return msgspec.convert({**spec, "type": name}, _RANGES[name], strict=False)


def _rising(spec: dict[str, Any], at: str, report: ProblemReport) -> None:
    low, high = spec.get("minval"), spec.get("maxval")
    if low is None or high is None:
        return
    if low >= high:
        report.problem(at, f"minval must be less than maxval, but {low} is not less than {high}")
    elif not math.isfinite(float(high) - float(low)):
        report.problem(at, f"the range from {low} to {high} is too wide")


def _powers(spec: dict[str, Any], at: str, report: ProblemReport) -> None:
    """Powers must be numbers. A warning says so if the exponents look like values."""
    base, low, high = (spec.get(key) for key in ("base", "minval", "maxval"))
    if base is None or low is None or high is None:
        return
    if base == 1:
        report.problem(f"{at}.base", "must not be 1, whose powers are all the same; try 10")
        return
    try:
        lowest, highest = float(base) ** float(low), float(base) ** float(high)
    except OverflowError:
        text = f"minval and maxval are exponents: {base} to the power of {high} is too large"
        report.problem(at, text)
        return
    if 0 < low < high <= 1 and high >= MIN_RATIO_OF_VALUES * low:
        meant = " and ".join(f"{math.log(value, base):.4g}" for value in (low, high))
        report.warn(
            at,
            f"minval and maxval are exponents: the values lie between {lowest:.4g} and "
            f"{highest:.4g}; for values from {low:g} to {high:g} write {meant}",
        )


def _has_choices(spec: dict[str, Any], at: str, report: ProblemReport) -> None:
    if spec.get("vals") == []:
        report.problem(f"{at}.vals", "must hold at least one value")


class _Choices(ValueType):
    """The values of a categorical hyperparameter."""

    noun = "array"

    def read(self, value: Any, at: str, report: ProblemReport) -> Any:
        if not isinstance(value, list):
            report.problem(at, expected("array", value))
            return None
        return Anything().read(value, at, report)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "minItems": 1}


_COUNT = Field(Integer(at_least=1), is_hidden_when_null=True, doc="Points in a grid.")
_LOW = Field(Number(), is_required=True, doc="Included.")
_HIGH = Field(Number(), is_required=True, doc="Included in grids, excluded from random draws.")
_LOW_INT = Field(Integer(), is_required=True, doc="Included.")
_HIGH_INT = Field(Integer(), is_required=True, doc="Included.")
_EXPONENT = Field(Number(), is_required=True, doc="An exponent.")


def _spec(name: str, fields: dict[str, Field], *rules: Any) -> Object:
    return Object(
        {
            "type": Field(OneOf((name,)), is_required=True, doc="The kind of the hyperparameter."),
            **fields,
        },
        rules=rules,
    )


SPECS: dict[str, Object] = {
    "const": _spec("const", {"val": Field(Anything(), doc="The same for all trials.")}),
    "int": _spec("int", {"minval": _LOW_INT, "maxval": _HIGH_INT, "count": _COUNT}, _rising),
    "double": _spec("double", {"minval": _LOW, "maxval": _HIGH, "count": _COUNT}, _rising),
    "log": _spec(
        "log",
        {
            "minval": _EXPONENT,
            "maxval": _EXPONENT,
            "base": Field(Number(above=0), is_required=True, doc="Raised to the exponents."),
            "count": _COUNT,
        },
        _rising,
        _powers,
    ),
    "categorical": _spec(
        "categorical",
        {"vals": Field(_Choices(), is_required=True, doc="One value is chosen.")},
        _has_choices,
    ),
}


class Hyperparameters(ValueType):
    """The section `hyperparameters`: a group, whose members may be groups."""

    noun = "object"

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            report.problem(at, expected("object", value))
            return None
        read = {}
        for name, spec in value.items():
            Text().read(name, at, report)
            read[str(name)] = self._read_spec(spec, f"{at}.{name}", report)
        return read

    def merge(self, high: Any, low: Any) -> Any:
        if high is None or low is None:
            return super().merge(high, low)
        merged = {**low, **high}
        for name in high.keys() & low.keys():
            if _is_group(high[name]) and _is_group(low[name]):
                merged[name] = self.merge(high[name], low[name])
        return merged

    def json_schema(self) -> dict[str, Any]:
        return {"$ref": f"#/definitions/{GROUP_NAME}"}

    def group_schema(self) -> dict[str, Any]:
        """The definition that `json_schema` refers to, for the definitions of the whole schema."""
        specs = [
            {
                **spec.json_schema(),
                "required": [k for k, f in spec.fields.items() if f.is_required],
            }
            for spec in SPECS.values()
        ]
        group = {"allOf": [self.json_schema(), {"not": {"required": ["type"]}}]}
        constant = {"not": {"type": "object"}}
        return {"type": "object", "additionalProperties": {"anyOf": [*specs, group, constant]}}

    def _read_spec(self, spec: Any, at: str, report: ProblemReport) -> Any:
        if not isinstance(spec, Mapping):
            return {"type": "const", "val": Anything().read(spec, at, report)}
        if "type" not in spec:
            return self.read(spec, at, report)
        kind = SPECS.get(spec["type"]) if isinstance(spec["type"], str) else None
        if kind is None:
            text = f"type must be one of {', '.join(SPECS)} but found {spec['type']!r}"
            report.problem(at, f"unknown hyperparameter {text}")
            return None
        if spec["type"] == "const" and "val" not in spec:
            report.problem(at, "val is a required property")
        read = kind.read(spec, at, report)
        if spec["type"] != "const":
            kind.find_gaps(read, at, report)
        return {"type": "const", "val": None, **read} if spec["type"] == "const" and read else read


def _is_group(spec: Any) -> bool:
    return isinstance(spec, Mapping) and "type" not in spec
