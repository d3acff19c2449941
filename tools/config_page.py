"""The page of all keys of an experiment's configuration, made from its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from determined_master.domain.config.experiment_schema import EXPERIMENT, Entrypoint
from determined_master.domain.config.key_effects import KEY_EFFECTS, Effect
from determined_master.domain.config.schema.containers import Field, ListOf, MapOf, Object, Tagged
from determined_master.domain.config.schema.values import Integer, Number, OneOf, ValueType
from determined_master.domain.config.sections.environment import Image, Variables
from determined_master.domain.config.sections.hyperparameters import SPECS, Hyperparameters
from determined_master.domain.config.sections.lengths import Length
from determined_master.domain.config.sections.mounts import Device
from determined_master.domain.config.sections.resources import MemorySize

HEAD = """\
# Keys of an experiment's configuration

Made by `tools/generate_docs.py` from the schema; do not edit. How to write a configuration is
told in [configuration](../configuration.md).

Every key may be left out or be null, which is the same, unless it is *required*; what is required
may also come from a template or from the cluster. `[]` stands for each item of a list. Keys marked
*no effect* are read for the sake of older files, with a warning.
"""
COLUMNS = ("| key | type | default | meaning |", "|---|---|---|---|")
_FILLED = {
    "name": "a random name",
    "reproducibility": "made",
    "experiment_seed": "a random one",
    "checkpoint_storage": "the workspace's, the cluster's",
}
"""Required keys that the master fills in."""
_WORDS: dict[type[ValueType], str] = {
    Device: "`HOST:CONTAINER[:MODE]` or map",
    Entrypoint: "text for a shell, or list",
    Hyperparameters: "map",
    Image: "text, or map by device",
    MemorySize: "bytes, or text such as `4 GiB`",
    Variables: "list, or map by device",
}
"""Types that may be written in several ways."""

_EFFECTS: dict[Effect, str] = {
    "runs": "what runs",
    "reads": "what a task reads",
    "sends": "where something is sent, or what is open",
    "harmless": "nothing of that: harmless",
}


def config_page() -> str:
    """The whole page."""
    top = _section("Top level", EXPERIMENT.fields)
    return "\n".join([HEAD, *top, *_sections(), *_key_effects()]) + "\n"


def _key_effects() -> Iterator[str]:
    """Which keys a policy of a workspace may set, for experiments and tasks."""
    yield "\n## What each key decides\n"
    yield (
        "In the config policies of a workspace, only an admin of the cluster sets keys that are "
        "not\nharmless. A key stands for all keys below it, except for those that are listed "
        "themselves.\n"
    )
    yield "| decides | keys |"
    yield "|---|---|"
    for effect, words in _EFFECTS.items():
        keys = ", ".join(f"`{key}`" for key, other in KEY_EFFECTS.items() if other == effect)
        yield f"| {words} | {keys} |"


def _sections() -> Iterator[str]:
    for name, spec in SPECS.items():
        yield from _section(f"Hyperparameters of type {name}", spec.fields)
    for key, field in EXPERIMENT.fields.items():
        yield from _of_kind(key, field.kind)


def _of_kind(path: str, kind: ValueType) -> Iterator[str]:
    """The tables of a section and of the sections in it."""
    match kind:
        case Object():
            yield from _section(f"`{path}`", kind.fields)
            for key, field in kind.fields.items():
                yield from _of_kind(f"{path}.{key}", field.kind)
        case ListOf():
            yield from _of_kind(f"{path}[]", kind.item)
        case Tagged() if path != "tensorboard_storage":
            yield from _section(f"`{path}`, whatever its `{kind.tag}`", kind.common)
            for name, variant in kind.variants.items():
                own = {k: f for k, f in variant.fields.items() if kind.common.get(k) is not f}
                if own:
                    yield from _section(f"`{path}` with `{kind.tag}: {name}`", own)


def _section(title: str, fields: Mapping[str, Field]) -> Iterator[str]:
    yield from ("", f"## {title}", "", *COLUMNS)
    for key, field in fields.items():
        why = field.no_effect.removeprefix("has no effect").removeprefix(" any more").lstrip(": ")
        meaning = f"{field.doc} *No effect*{why and f': {why}'}." if field.no_effect else field.doc
        yield f"| `{key}` | {_type(field.kind)} | {_default(key, field)} | {meaning.strip()} |"


def _type(kind: ValueType) -> str:
    match kind:
        case OneOf():
            return ", ".join(f"`{word}`" for word in kind.words)
        case Integer():
            return "integer" + _bounds(kind)
        case Number():
            return "number" if kind.above is None else f"number > {kind.above:g}"
        case ListOf():
            return f"list of {_type(kind.item)}"
        case MapOf():
            return f"map to {_type(kind.item)}"
        case Length():
            return "length" if not kind.allows_bare_number else "integer or length"
        case Object() | Tagged():
            return "section"
        case _:
            return _WORDS.get(type(kind), kind.noun)


def _bounds(kind: Integer) -> str:
    schema = kind.json_schema()
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None:
        return f" {low} to {high}"
    return "" if low is None else f" ≥ {low}"


def _default(key: str, field: Field) -> str:
    if field.is_required:
        return _FILLED.get(key, "required")
    if field.default in (None, {}, []):
        return ""
    return f"`{json.dumps(field.default)}`"
