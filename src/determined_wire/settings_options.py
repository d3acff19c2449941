"""Options of master and agent, as the structs of their settings define them. PURE.

The structs are the only definition of an option: its name, type, bounds, default and description
(`Meta(description=...)`). Flags and variables are named after the path of the option.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple, get_args, get_origin

import msgspec
from msgspec import inspect

_SCALARS = (
    inspect.BoolType,
    inspect.IntType,
    inspect.FloatType,
    inspect.StrType,
    inspect.LiteralType,
)


class Option(NamedTuple):
    """One option; `path` is for example ("db", "host")."""

    path: tuple[str, ...]
    type: inspect.Type
    annotation: Any
    """The type as the struct has it."""
    default: Any
    doc: str
    extra: Mapping[str, Any]

    @property
    def name(self) -> str:
        """The path with dots: `db.ssl_mode`."""
        return ".".join(self.path)

    @property
    def flag(self) -> str:
        """The flag: `--db-ssl-mode`."""
        return "--" + "-".join(part.strip("_").replace("_", "-") for part in self.path)

    @property
    def variable(self) -> str:
        """The variable: `DET_DB_SSL_MODE`."""
        return "DET_" + self.flag[2:].replace("-", "_").upper()

    @property
    def is_scalar(self) -> bool:
        """Whether a flag or a variable can give it; otherwise only the file can."""
        return isinstance(without_none(self.type), _SCALARS)

    @property
    def is_switch(self) -> bool:
        """Whether its flag may be given without a value."""
        return isinstance(self.type, inspect.BoolType)

    @property
    def words(self) -> tuple[str, ...]:
        """The allowed words in the order of the definition; empty for a free value."""
        return tuple(_literals(self.annotation)) if self._is_choice else ()

    @property
    def _is_choice(self) -> bool:
        return isinstance(self.type, inspect.LiteralType)

    @property
    def metavar(self) -> str:
        """The placeholder of its value in the help."""
        match self.type:
            case inspect.BoolType():
                return "true|false"
            case inspect.IntType():
                return "N"
            case _:
                return "|".join(self.words) or self.path[-1].upper()


class Choices(NamedTuple):
    """Structs among which the option `type` chooses; the first is the default."""

    structs: Mapping[str, type[msgspec.Struct]]
    unknown: str
    """The error for any other type."""


@functools.cache
def options(cls: type[msgspec.Struct], path: tuple[str, ...] = ()) -> tuple[Option, ...]:
    """Return all options of a struct and of its nested structs, in order.

    They are found once a struct: msgspec evaluates the annotations of all fields each time.
    """
    return tuple(_options_of(cls, path))


def _options_of(cls: type[msgspec.Struct], path: tuple[str, ...]) -> Iterator[Option]:
    for field, defined in zip(fields_of(cls), msgspec.structs.fields(cls), strict=True):
        inner, doc, extra = unwrap(field.type)
        here = (*path, field.encode_name)
        if extra.get("is_derived"):
            continue
        if choices := extra.get("choices"):
            by_path: dict[tuple[str, ...], Option] = {}
            for chosen in choices.structs.values():
                for option in options(chosen, here):
                    by_path.setdefault(option.path, option)
            yield from by_path.values()
        elif isinstance(inner, inspect.StructType):
            yield from options(inner.cls, here)
        else:
            yield Option(here, inner, defined.type, default_of(field), doc, extra)


@functools.cache
def fields_of(cls: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    """Return the fields of a struct with their types."""
    info = inspect.type_info(cls)
    assert isinstance(info, inspect.StructType)
    return info.fields


def unwrap(type_: inspect.Type) -> tuple[inspect.Type, str, Mapping[str, Any]]:
    """Return the type without metadata and None, its description, and its extra."""
    doc, extra = "", dict[str, Any]()
    while True:
        if isinstance(type_, inspect.Metadata):
            doc = doc or str((type_.extra_json_schema or {}).get("description") or "")
            extra = {**(type_.extra or {}), **extra}
            type_ = type_.type
        elif isinstance(type_, inspect.UnionType):
            type_ = without_none(type_)
            if isinstance(type_, inspect.UnionType):
                return type_, doc, extra
        else:
            return type_, doc, extra


def without_none(type_: inspect.Type) -> inspect.Type:
    """Return the other type of an optional one; any other type unchanged."""
    if not isinstance(type_, inspect.UnionType):
        return type_
    others = [t for t in type_.types if not isinstance(t, inspect.NoneType)]
    return others[0] if len(others) == 1 else type_


def default_of(field: inspect.Field) -> Any:
    """Return the default of a field; None where there is none."""
    if field.default is not msgspec.NODEFAULT:
        return field.default
    if field.default_factory is not msgspec.NODEFAULT:
        return field.default_factory()
    return None


def _literals(annotation: Any) -> Iterator[str]:
    """Yield the words of a Literal, which may be optional or annotated."""
    if get_origin(annotation) is Literal:
        yield from map(str, get_args(annotation))
    else:
        for inner in get_args(annotation):
            yield from _literals(inner)
