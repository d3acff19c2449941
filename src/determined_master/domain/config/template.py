"""Templates: parts of the configuration of an experiment or of any other task.

One template may serve tasks of several types. Each type reads its own keys and leaves out those
that only others have.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.schema.containers import Object, unknown_key
from determined_master.domain.config.schema.problems import Problem, ProblemReport
from determined_master.domain.config.schema.values import ValueType
from determined_master.domain.config.task_schema import GENERIC, INTERACTIVE
from determined_master.domain.errors import InvalidArgument

_SCHEMAS = (EXPERIMENT, INTERACTIVE, GENERIC)
_ROOT = "<template>"
_RESOURCES = "resources"


def check_template(config: Mapping[str, Any]) -> None:
    """Find mistakes when a template is stored, before a task uses it.

    A value is right when a task of some type takes it.

    Raises:
        InvalidArgument: with every problem and its path.
    """
    problems = sorted(_find_problems(config, _ROOT, _SCHEMAS))
    if problems:
        lines = [f"{problem.path}: {problem.text}" for problem in problems]
        raise InvalidArgument("invalid template: " + "\n".join(lines))


def part_for(schema: Object, template: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a template for tasks with this schema: without keys that only others have."""
    part = dict(_without_foreign(template, schema, _SCHEMAS))
    resources = part.get(_RESOURCES)
    if isinstance(resources, Mapping):
        others = [_resources(s) for s in _SCHEMAS]
        part[_RESOURCES] = dict(_without_foreign(resources, _resources(schema), others))
    return part


def read_part(
    schema: Object, template: Mapping[str, Any], report: ProblemReport
) -> dict[str, Any]:
    """Read the part for tasks with this schema.

    A key without effect gives no warning: who uses a template did not write it.
    """
    own = ProblemReport()
    read = schema.read(part_for(schema, template), _ROOT, own)
    for problem in own.problems:
        report.problem(problem.path, problem.text, is_gap=problem.is_gap, bare=problem.bare)
    return read or {}


def _find_problems(
    config: Mapping[str, Any], at: str, schemas: Sequence[Object]
) -> Iterator[Problem]:
    known = {key: None for schema in schemas for key in schema.fields}
    for key, value in config.items():
        types = [schema.fields[key].kind for schema in schemas if key in schema.fields]
        if not types:
            yield Problem(at, unknown_key(key, known))
        elif key == _RESOURCES and isinstance(value, Mapping):
            yield from _find_problems(value, f"{at}.{key}", list(map(_resources, schemas)))
        elif value is not None:
            yield from _problems_of(value, f"{at}.{key}", types)


def _problems_of(value: Any, at: str, types: list[ValueType]) -> tuple[Problem, ...]:
    """The problems of a value for the first type, if it is wrong for all of them."""
    found: list[tuple[Problem, ...]] = []
    for type_ in types:
        report = ProblemReport()
        type_.read(value, at, report)
        if not report.problems:
            return ()
        found.append(report.problems)
    return found[0]


def _without_foreign(
    config: Mapping[str, Any], schema: Object, schemas: Sequence[Object]
) -> Iterator[tuple[str, Any]]:
    foreign = {key for other in schemas for key in other.fields} - schema.fields.keys()
    return ((key, value) for key, value in config.items() if key not in foreign)


def _resources(schema: Object) -> Object:
    kind = schema.fields[_RESOURCES].kind
    assert isinstance(kind, Object)
    return kind
