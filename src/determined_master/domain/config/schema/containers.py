"""Kinds that hold other kinds: lists, maps, objects with fields, and objects of several types."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import ValueType, expected, type_name

Rule = Callable[[dict[str, Any], str, ProblemReport], None]
"""Checks a read object and reports contradictions under its path."""

MAX_KEY_LENGTH = 80
"""The longest object that an error shows unchanged."""


@dataclass(frozen=True)
class ListOf(ValueType):
    """A list; a higher layer's replaces a lower one's unless `key` identifies equal items.

    With `key`, items of the lower layer whose key the higher one lacks are appended.
    """

    noun: ClassVar[str] = "array"
    item: ValueType
    key: Callable[[Any], Hashable] | None = None

    def read(self, value: Any, at: str, report: ProblemReport) -> list[Any] | None:
        if not isinstance(value, (list, tuple)):
            report.problem(at, expected("array", value))
            return None
        read = []
        for i, item in enumerate(value):
            if item is None:
                report.problem(f"{at}[{i}]", f"expected {self.item.noun}, but got null")
            else:
                read.append(self.item.read(item, f"{at}[{i}]", report))
        return read

    def merge(self, high: Any, low: Any) -> Any:
        if high is None or low is None or self.key is None:
            return super().merge(high, low)
        seen = {self.key(item) for item in high}
        return [*high, *(item for item in low if self.key(item) not in seen)]

    def complete(self, value: Any) -> Any:
        return None if value is None else [self.item.complete(item) for item in value]

    def find_gaps(self, value: Any, at: str, report: ProblemReport) -> None:
        for i, item in enumerate(value or ()):
            self.item.find_gaps(item, f"{at}[{i}]", report)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": self.item.json_schema()}


@dataclass(frozen=True)
class MapOf(ValueType):
    """A map with free keys; layers merge key by key."""

    noun: ClassVar[str] = "object"
    item: ValueType

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            report.problem(at, expected("object", value))
            return None
        return {
            str(key): None if item is None else self.item.read(item, f"{at}.{key}", report)
            for key, item in value.items()
        }

    def merge(self, high: Any, low: Any) -> Any:
        if high is None or low is None:
            return super().merge(high, low)
        return {
            key: self.item.merge(high.get(key), low.get(key))
            for key in dict.fromkeys([*low, *high])
        }

    def json_schema(self) -> dict[str, Any]:
        return {"type": "object", "additionalProperties": self.item.json_schema()}


@dataclass(frozen=True)
class Field:
    """One key of an object."""

    kind: ValueType
    default: Any = None
    doc: str = ""
    is_required: bool = False
    """Whether it must be set after layers are merged and defaults filled in."""
    is_hidden_when_null: bool = False
    """Whether the completed form omits it when it is null."""
    no_effect: str = ""
    """Why setting it changes nothing, for the warning; empty when it has an effect."""


@dataclass(frozen=True)
class Object(ValueType):
    """An object with fixed keys."""

    noun: ClassVar[str] = "object"
    fields: Mapping[str, Field]
    rules: Sequence[Rule] = ()
    wholesale: bool = False
    """Whether a higher layer's object replaces a lower one's as a whole."""

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            report.problem(at, expected("object", value))
            return None
        read: dict[str, Any] = {}
        for key, item in value.items():
            field = self.fields.get(key)
            if field is None:
                report.problem(at, unknown_key(key, self.fields, has_hint=report.wants_hints))
            elif item is not None:
                read[key] = field.kind.read(item, f"{at}.{key}", report)
                if field.no_effect and read[key] != field.default:
                    report.warn(f"{at}.{key}", field.no_effect)
        for rule in self.rules:
            rule(read, at, report)
        return read

    def merge(self, high: Any, low: Any) -> Any:
        if high is None or low is None or self.wholesale:
            return super().merge(high, low)
        return {
            key: field.kind.merge(high.get(key), low.get(key))
            for key, field in self.fields.items()
            if key in high or key in low
        }

    def complete(self, value: Any) -> Any:
        if value is None:
            return None
        completed = {}
        for key, field in self.fields.items():
            item = value.get(key)
            filled = field.kind.complete(field.default if item is None else item)
            if filled is not None or not field.is_hidden_when_null:
                completed[key] = filled
        return completed

    def find_gaps(self, value: Any, at: str, report: ProblemReport) -> None:
        if value is None:
            return
        for key, field in self.fields.items():
            if field.is_required and value.get(key) is None:
                if not report.has_problem_at(f"{at}.{key}"):
                    report.problem(at, f"{key} is a required property", is_gap=True)
            else:
                field.kind.find_gaps(value.get(key), f"{at}.{key}", report)

    def json_schema(self) -> dict[str, Any]:
        properties = {}
        for key, field in self.fields.items():
            schema = {"anyOf": [field.kind.json_schema(), {"type": "null"}]}
            if field.doc:
                schema["description"] = field.doc  # type: ignore[assignment]  # a schema is free-form
            if field.default is not None:
                schema["default"] = field.default
            if field.no_effect:
                schema["deprecated"] = True  # type: ignore[assignment]  # a schema is free-form
            properties[key] = schema
        return {"type": "object", "properties": properties, "additionalProperties": False}


@dataclass(frozen=True)
class Tagged(ValueType):
    """An object of one of several types; one key names the type.

    Common keys of layers merge; keys of one type merge only where both layers have that type. A
    layer without a type takes the other layer's.
    """

    noun: ClassVar[str] = "object"
    tag: str
    common: Mapping[str, Field]
    variants: Mapping[str, Object]
    """By type; each has the tag, the common fields and its own."""
    aliases: Mapping[str, str]
    removed: Mapping[str, str]
    """Types that are known but refused, with the replacement."""

    def read(self, value: Any, at: str, report: ProblemReport) -> dict[str, Any] | None:
        if not isinstance(value, Mapping):
            report.problem(at, expected("object", value))
            return None
        name = value.get(self.tag)
        canonical = self.aliases.get(name, name) if isinstance(name, str) else None
        if canonical is not None and canonical in self.variants:
            return self.variants[canonical].read({**value, self.tag: canonical}, at, report)
        if name is not None:
            report.problem(f"{at}.{self.tag}", self._refusal(name))
        if isinstance(name, str) and name in self.removed:
            return None  # its other keys have no known meaning
        rest = {key: item for key, item in value.items() if key != self.tag}
        return self._any_variant().read(rest, at, report)

    def merge(self, high: Any, low: Any) -> Any:
        if high is None or low is None:
            return super().merge(high, low)
        high_tag, low_tag = high.get(self.tag), low.get(self.tag)
        if high_tag is None or low_tag is None or high_tag == low_tag:
            name = high_tag or low_tag
            kind = self.variants[name] if name else self._any_variant()
            strange = {k: v for k, v in {**low, **high}.items() if k not in kind.fields}
            return {**strange, **kind.merge(high, low)}
        shared = Object(self.common).merge(high, low)
        return {**high, **shared}

    def complete(self, value: Any) -> Any:
        variant = self.variants.get(value.get(self.tag)) if value else None
        return value if variant is None else variant.complete(value)

    def find_gaps(self, value: Any, at: str, report: ProblemReport) -> None:
        if value is None:
            return
        variant = self.variants.get(value.get(self.tag))
        if variant is not None:
            variant.find_gaps(value, at, report)
        else:
            Object(self.common).find_gaps(value, at, report)

    def json_schema(self) -> dict[str, Any]:
        choices = []
        for name, variant in self.variants.items():
            schema = variant.json_schema()
            names = [name, *(a for a, n in self.aliases.items() if n == name)]
            schema["properties"][self.tag] = {"enum": names}
            choices.append(schema)
        return {"type": "object", "anyOf": choices}

    def _refusal(self, name: Any) -> str:
        if not isinstance(name, str):
            value = type_name(name)
        elif name in self.removed:
            return f'{self.tag} "{name}" has been removed: {self.removed[name]}'
        else:
            value = f'"{name}"'
        choices = ", ".join((*self.variants, *self.aliases))
        return f"{self.tag} must be one of {choices} but found {value}"

    def _any_variant(self) -> Object:
        fields: dict[str, Field] = {}
        for variant in self.variants.values():
            fields = {**variant.fields, **fields}
        return Object(fields)


def unknown_key(key: Any, known: Mapping[str, Any], *, has_hint: bool = True) -> str:
    """The text for an unknown key, with the nearest known one.

    Cost: the search for the nearest key takes longer than reading a hundred valid keys.
    """
    name = str(key)
    if len(name) > MAX_KEY_LENGTH:
        return f'additionalProperties "{name[:MAX_KEY_LENGTH]}…" not allowed'
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.75) if has_hint else ()
    hint = f'; did you mean "{near[0]}"?' if near else ""
    return f'additionalProperties "{name}" not allowed{hint}'
