"""Reads the values of the master's settings into frozen structs, and reports every error.

The structs define the options (see `determined_wire.settings_options`). `Meta(extra=...)` may add
`is_secret`, and `kind` for values with a schema of their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta, inspect

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import (
    BOOLEAN_WORDS,
    Anything,
    Boolean,
    Integer,
    Number,
    OneOf,
    Text,
    ValueType,
    type_name,
)
from determined_wire.masking import MASK
from determined_wire.settings_options import Choices, Option, fields_of, unwrap, without_none
from determined_wire.settings_reader import similar_option

_NO_META: dict[str, Any] = {}


class Duration(ValueType):
    """A duration such as `30s`, `1h` or `1m30s`; seconds in the canonical form."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> float | None:
        if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0:
            return float(value)
        parts = _DURATION.fullmatch(value) if isinstance(value, str) else None
        if parts is None or not value:
            report.problem(at, f'must be a time such as "25s" or "1m30s" but found "{value}"')
            return None
        units = zip((3600.0, 60.0, 1.0, 0.001), parts.groups(), strict=True)
        return sum(unit * float(number) for unit, number in units if number)


_DURATION = re.compile(r"(?:([\d.]+)h)?(?:([\d.]+)m)?(?:([\d.]+)s)?(?:([\d.]+)ms)?", re.ASCII)
Seconds = Annotated[float, Meta(extra={"kind": Duration(), "noun": "duration"})]


def read_struct(cls: type[msgspec.Struct], section: Any, at: str, report: ProblemReport) -> Any:
    """A struct from its given values; an invalid option gets its default."""
    if section is None or not isinstance(section, Mapping):
        if section is not None:
            report.problem(at, f"expected object, but got {type_name(section)}")
        return cls(**{field.name: "" for field in fields_of(cls) if field.required})
    fields = {field.encode_name: field for field in fields_of(cls)}
    values = {}
    for own_key, value in section.items():
        key = own_key if own_key in fields else str(own_key).lower()
        field = fields.get(key)
        if field is None or unwrap(field.type)[2].get("is_derived"):
            report.problem(f"{at}.{own_key}", _unknown(str(own_key), list(fields)))
            continue
        read = _read(field.type, value, f"{at}.{key}", report)
        if read is not None:
            values[field.name] = read
    missing = [f for f in fields.values() if f.required and f.name not in values]
    for field in missing:
        if not report.has_problem_at(f"{at}.{field.encode_name}"):
            report.problem(f"{at}.{field.encode_name}", "is required")
        values[field.name] = ""
    return cls(**values)


def parse_text(option: Option, text: str) -> Any:
    """The value of a flag's or variable's text; the text itself when it is invalid."""
    inner = without_none(option.type)
    try:
        match inner:
            case inspect.BoolType():
                return BOOLEAN_WORDS.get(text.lower(), {"1": True, "0": False}.get(text, text))
            case inspect.IntType():
                return int(text)
            case inspect.FloatType() if "kind" not in option.extra:
                return float(text)
            case _:
                return text
    except ValueError:
        return text


def show(value: Any, type_: inspect.Type | None = None) -> Any:
    """Plain JSON values of a struct, secrets masked."""
    extra = unwrap(type_)[2] if type_ is not None else _NO_META
    if extra.get("is_secret"):
        if isinstance(value, Mapping):
            return dict.fromkeys(value, MASK)
        return MASK if value else value
    if shown_by := extra.get("shown"):
        return shown_by(value)
    if isinstance(extra.get("kind"), Duration):
        return None if value is None else f"{value:g}s"
    if isinstance(value, msgspec.Struct):
        return {
            f.encode_name: show(getattr(value, f.name), f.type)
            for f in fields_of(type(value))
            if not unwrap(f.type)[2].get("is_derived")
        }
    if isinstance(value, (list, tuple)):
        return [show(item) for item in value]
    return value


def _read(type_: inspect.Type, value: Any, at: str, report: ProblemReport) -> Any:
    if value is None:
        return None
    inner, _, extra = unwrap(type_)
    if kind := extra.get("kind"):
        return kind.read(value, at, report)
    if choices := extra.get("choices"):
        return _read_choice(choices, value, at, report)
    match inner:
        case inspect.StructType():
            return read_struct(inner.cls, value, at, report)
        case inspect.VarTupleType():
            if not isinstance(value, list):
                report.problem(at, f"expected array, but got {type_name(value)}")
                return None
            items = (_read(inner.item_type, v, f"{at}[{i}]", report) for i, v in enumerate(value))
            return tuple(item for item in items if item is not None)
        case inspect.DictType():
            if not isinstance(value, Mapping):
                report.problem(at, f"expected object, but got {type_name(value)}")
                return None
            return Anything().read(value, at, report)
        case _:
            return _scalar_kind(inner).read(value, at, report)


def _read_choice(choices: Choices, value: Any, at: str, report: ProblemReport) -> Any:
    default = next(iter(choices.structs))
    section = value if isinstance(value, Mapping) else {}
    chosen = next((v for k, v in section.items() if str(k).lower() == "type"), None) or default
    struct = choices.structs.get(chosen) if isinstance(chosen, str) else None
    if struct is None:
        report.problem(f"{at}.type", f'"{chosen}" {choices.unknown}')
        return None
    return read_struct(struct, value, at, report)


def _scalar_kind(type_: inspect.Type) -> ValueType:
    match type_:
        case inspect.BoolType():
            return Boolean()
        case inspect.IntType():
            low = {} if type_.ge is None else {"at_least": type_.ge}
            high = {} if type_.le is None else {"at_most": type_.le}
            return Integer(**low, **high)
        case inspect.FloatType():
            return Number()
        case inspect.LiteralType():
            return OneOf(tuple(str(value) for value in type_.values))
        case inspect.StrType():
            return Text()
        case _:
            return Anything()


def _unknown(key: str, keys: list[str]) -> str:
    near = similar_option(key, keys)
    return "unknown option" + (f"; did you mean {near}?" if near else "")
