"""Kinds of values: each reads a user's value, merges two layers and fills in defaults.

`read` takes any JSON value and returns its one canonical form, the only form in later steps.
Reading a canonical value again changes nothing. None always stands for an absent value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.storable import find_unstorable

MAX_INT = 2**63 - 1
SHOWN_BITS = 128
"""The longest integer that an error shows unchanged."""
BOOLEAN_WORDS = {
    **dict.fromkeys(("y", "yes", "on", "true"), True),
    **dict.fromkeys(("n", "no", "off", "false"), False),
}
"""Words that YAML 1.1 reads as booleans, in lower case."""


class ValueType:
    noun: ClassVar[str] = "value"
    """The type's name in errors, as in JSON Schema."""

    def read(self, value: Any, at: str, report: ProblemReport) -> Any:
        """The canonical form of a value that is not None; None when it is invalid."""
        raise NotImplementedError

    def merge(self, high: Any, low: Any) -> Any:
        """Merge canonical values of two layers."""
        return low if high is None else high

    def complete(self, value: Any) -> Any:
        """A canonical value with all defaults filled in."""
        return value

    def find_gaps(self, value: Any, at: str, report: ProblemReport) -> None:
        """Report the missing parts of a completed value."""

    def json_schema(self) -> dict[str, Any]:
        """The schema for editors."""
        return {}


def type_name(value: Any) -> str:
    """The name of a value's type in JSON Schema."""
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
        case str():
            return "string"
        case list() | tuple():
            return "array"
        case _:
            return "object"


def expected(noun: str, value: Any) -> str:
    """The text for a value of a wrong type."""
    return f"expected {noun} or null, but got {type_name(value)}"


def plain_number(value: float) -> int | float:
    """A whole number as an integer, as the API shows it; others stay unchanged."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    return value


def number_text(number: float) -> str:
    """A number for the text of a problem; Python prints no integer of over 4,300 digits."""
    if isinstance(number, int) and number.bit_length() > SHOWN_BITS:
        return f"a number of about {int(number.bit_length() * math.log10(2)) + 1} digits"
    return str(number)


@dataclass(frozen=True)
class Text(ValueType):
    """A text; `check` returns the fault of one, or None."""

    noun: ClassVar[str] = "string"
    check: Callable[[str], str | None] | None = None

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if not isinstance(value, str):
            report.problem(at, expected("string", value))
            return None
        fault = find_unstorable(value) or (self.check(value) if self.check else None)
        if fault:
            report.problem(at, fault)
            return None
        return value

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string"}


@dataclass(frozen=True)
class Integer(ValueType):
    """A whole number within bounds, both included."""

    noun: ClassVar[str] = "integer"
    at_least: int = -MAX_INT - 1
    at_most: int = MAX_INT

    def read(self, value: Any, at: str, report: ProblemReport) -> int | None:
        number = plain_number(value) if isinstance(value, float) else value
        if isinstance(number, bool) or not isinstance(number, int):
            report.problem(at, expected("integer", value))
            return None
        if number < self.at_least:
            report.problem(at, f"must be >= {self.at_least} but found {number_text(number)}")
            return None
        if number > self.at_most:
            report.problem(at, f"must be <= {self.at_most} but found {number_text(number)}")
            return None
        return number

    def json_schema(self) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "integer"}
        if self.at_least > -MAX_INT - 1:
            schema["minimum"] = self.at_least
        if self.at_most < MAX_INT:
            schema["maximum"] = self.at_most
        return schema


@dataclass(frozen=True)
class Number(ValueType):
    """A finite number, above a bound if one is given."""

    noun: ClassVar[str] = "number"
    above: float | None = None

    def read(self, value: Any, at: str, report: ProblemReport) -> int | float | None:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            report.problem(at, expected("number", value))
            return None
        if not _is_finite(value):
            report.problem(at, f"must be a finite number but found {number_text(value)}")
            return None
        if self.above is not None and value <= self.above:
            report.problem(
                at, f"must be > {plain_number(self.above)} but found {number_text(value)}"
            )
            return None
        return plain_number(value)

    def json_schema(self) -> dict[str, Any]:
        bound = {} if self.above is None else {"exclusiveMinimum": self.above}
        return {"type": "number", **bound}


@dataclass(frozen=True)
class Boolean(ValueType):
    """true or false; also the words that YAML 1.1 reads as booleans, with a warning."""

    noun: ClassVar[str] = "boolean"

    def read(self, value: Any, at: str, report: ProblemReport) -> bool | None:
        if isinstance(value, bool):
            return value
        if isinstance(value, str) and value.lower() in BOOLEAN_WORDS:
            meant = BOOLEAN_WORDS[value.lower()]
            word = "true" if meant else "false"
            report.warn(at, f"`{value}` is read as {word}; write {word}")
            return meant
        report.problem(at, expected("boolean", value))
        return None

    def json_schema(self) -> dict[str, Any]:
        return {"type": "boolean"}


@dataclass(frozen=True)
class OneOf(ValueType):
    """One word of a fixed set."""

    noun: ClassVar[str] = "string"
    words: Sequence[str]

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if value not in self.words:
            choices = ", ".join(f'"{word}"' for word in self.words)
            report.problem(at, f"value must be one of {choices} but found {_quoted(value)}")
            return None
        return str(value)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "string", "enum": list(self.words)}


@dataclass(frozen=True)
class Anything(ValueType):
    """Any JSON value that can be stored."""

    def read(self, value: Any, at: str, report: ProblemReport) -> Any:
        match value:
            case str():
                return Text().read(value, at, report)
            case None | bool():
                return value
            case int() | float():
                return _any_number(value, at, report)
            case list() | tuple():
                return [self.read(item, f"{at}[{i}]", report) for i, item in enumerate(value)]
            case dict():
                return {
                    key: self.read(item, f"{at}.{key}", report)
                    for key, item in value.items()
                    if _is_key(key, at, report)
                }
            case _:
                report.problem(at, f"a {type(value).__name__} is not a JSON value")
                return None


def _any_number(value: float, at: str, report: ProblemReport) -> int | float | None:
    """A number of any size. An integer beyond 64 bits is read as a double, as in JSON."""
    if isinstance(value, int) and abs(value) > MAX_INT:
        report.problem(at, f"must fit in 64 bits but found {number_text(value)}")
        return None
    return Number().read(value, at, report)


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:  # an integer beyond all doubles
        return False


def _is_key(key: Any, at: str, report: ProblemReport) -> bool:
    fault = find_unstorable(key) if isinstance(key, str) else f"key {key!r} is not text"
    if fault:
        report.problem(at, f"key: {fault}")
    return fault is None


def _quoted(value: Any) -> str:
    return f'"{value[:80]}"' if isinstance(value, str) else type_name(value)
