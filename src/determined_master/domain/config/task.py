"""The configuration of tasks other than trials: from a submitted one to the one that is run."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import msgspec

from determined_master.domain.config.layers import (
    ConfigLayers,
    as_experiment,
    check_limits,
    chosen_pool,
    container_defaults,
)
from determined_master.domain.config.policies.rules import find_violations
from determined_master.domain.config.schema.problems import ROOT, Problem, ProblemReport
from determined_master.domain.config.schema.values import type_name
from determined_master.domain.config.sizes import check_sizes
from determined_master.domain.config.task_schema import schema_of
from determined_master.domain.config.template import read_part
from determined_master.domain.config.template_source import template_changes
from determined_master.domain.durations import format_duration, parse_duration
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.schedule.priorities import PriorityOrder
from determined_master.domain.task.containers import ContainerConfig, typed_containers
from determined_master.domain.task.kinds import TASK_KINDS, ConfigKind, TaskKind


class TaskErrors(InvalidArgument):
    """A task's configuration that cannot be used; the text lists every problem with its path."""

    def __init__(self, kind: ConfigKind, problems: tuple[Problem, ...]) -> None:
        lines = "\n".join(f"{p.path}: {p.text}" for p in problems)
        if kind == "generic":
            head = f"generic task config: Check Failed! {len(problems)} errors found:\n"
        else:
            head = f"{kind} configuration: "
        super().__init__(f"invalid {head}{lines}")
        self.problems = problems


class TaskConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The typed form of a completed configuration."""

    entrypoint: tuple[str, ...]
    """Empty where the kind has its own command."""
    description: str
    slots: int
    resource_pool: str
    priority: int
    weight: float
    max_slots: int | None
    is_single_node: bool
    idle_timeout: timedelta | None
    """How long it may be unused before it ends; None forever."""
    preemption_timeout_s: int
    work_dir: str | None
    containers: ContainerConfig
    tensorboard_args: tuple[str, ...] = ()
    notebook_idle_type: str = ""


class BuiltTask(msgspec.Struct, frozen=True, kw_only=True):
    """A complete configuration without errors."""

    config: dict[str, Any]
    """As it is stored and shown."""
    typed: TaskConfig
    warnings: tuple[str, ...] = ()


class TaskOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Values that complete a configuration besides its layers."""

    name: str
    """For the generated description."""
    has_files: bool = False
    """Whether the user sends a directory."""
    idle_timeout: timedelta | None = None
    """The cluster's default for tasks of this kind."""


def build_task(
    kind: ConfigKind, submitted: Any, *, layers: ConfigLayers, options: TaskOptions
) -> BuiltTask:
    """Check a submitted configuration, merge it with the other layers and fill in defaults.

    Args:
        kind: of the task.
        submitted: JSON values, as read from the request.
        layers: of the cluster and the template; policies are those of tasks.
        options: further values that complete it.

    Raises:
        TaskErrors: with every problem and its path.
        InvalidArgument: it exceeds a constraint of a config policy.
    """
    report = ProblemReport()
    schema = schema_of(kind)
    user = _read(kind, submitted, ROOT, report)
    template = read_part(schema, _without_foreign(kind, user, layers.template or {}), report)
    config = dict(schema.merge(user, template))
    template_changes(layers.template_source, user, config, report)
    _check_said(kind, config, options, report)
    _warn(kind, user, report)

    resources = dict(config.get("resources") or {})
    if not _kind(kind).has_slots:
        resources["slots"] = 0
    pool_name, pool = chosen_pool(resources, resources.get("slots"), layers, report)
    resources = {"priority": pool.default_priority, **resources, "resource_pool": pool_name}
    config["resources"] = resources
    low = schema.read(
        _defaults(kind, layers, pool_name, resources.get("slots")), "", ProblemReport()
    )
    config = dict(schema.merge(config, low))
    _name_and_time(kind, config, options)

    completed: dict[str, Any] = msgspec.to_builtins(schema.complete(config))
    schema.find_gaps(completed, ROOT, report)
    if not report.problems:
        check_sizes(completed, layers.limits, report)
        check_limits(completed, layers, report)
    if report.problems:
        raise TaskErrors(kind, report.problems)
    _check_constraints(completed["resources"], layers, priorities=pool.priorities)
    return BuiltTask(config=completed, typed=typed_task(completed), warnings=report.warnings)


def typed_task(config: Mapping[str, Any]) -> TaskConfig:
    """The typed form of a configuration that `build_task` returns."""
    resources = config["resources"]
    idle = config.get("idle_timeout")
    return TaskConfig(
        entrypoint=tuple(config.get("entrypoint") or ()),
        description=config.get("description") or "",
        slots=resources["slots"],
        resource_pool=resources["resource_pool"],
        priority=resources["priority"],
        weight=resources["weight"],
        max_slots=resources.get("max_slots"),
        is_single_node=resources["is_single_node"],
        idle_timeout=parse_duration(idle) if idle else None,
        preemption_timeout_s=config.get("preemption_timeout", 0),
        work_dir=config.get("work_dir"),
        containers=typed_containers(config),
        tensorboard_args=tuple(config.get("tensorboard_args") or ()),
        notebook_idle_type=config.get("notebook_idle_type") or "",
    )


def work_directory(config: TaskConfig, default: str, *, agent_user: str, username: str) -> str:
    """The directory in which a task starts, with `$AGENT_USER` and `$DET_USER` replaced."""
    chosen = config.work_dir or default
    return chosen.replace("$AGENT_USER", agent_user).replace("$DET_USER", username)


def _kind(kind: ConfigKind) -> TaskKind:
    return TASK_KINDS[kind.upper()]


def _read(kind: ConfigKind, submitted: Any, root: str, report: ProblemReport) -> dict[str, Any]:
    if not isinstance(submitted, Mapping):
        report.problem(root, f"expected object, but got {type_name(submitted)}")
        raise TaskErrors(kind, report.problems)
    return schema_of(kind).read(submitted, root, report) or {}


def _without_foreign(
    kind: ConfigKind, user: Mapping[str, Any], template: Mapping[str, Any]
) -> dict[str, Any]:
    """A template without an entrypoint that is not run: it may be one of other tasks."""
    is_run = _kind(kind).runs_user_command and user.get("entrypoint") is None
    return {key: value for key, value in template.items() if is_run or key != "entrypoint"}


def _check_said(
    kind: ConfigKind, config: Mapping[str, Any], options: TaskOptions, report: ProblemReport
) -> None:
    """Report problems that the schema does not show."""
    at = f"{ROOT}.entrypoint"
    is_missing = config.get("entrypoint") is None and not report.has_problem_at(at)
    if is_missing and _kind(kind).needs_entrypoint:
        report.problem(at, "is missing: name the command to run, as a list", is_gap=True)
    if options.has_files and config.get("work_dir") is not None:
        text = "cannot be set together with a directory of files: leave one of them out"
        report.problem(f"{ROOT}.work_dir", text)


def _warn(kind: ConfigKind, user: Mapping[str, Any], report: ProblemReport) -> None:
    """Warn of keys that the user has set and that have no effect."""
    facts = _kind(kind)
    if not facts.runs_user_command and user.get("entrypoint") is not None:
        report.warn(f"{ROOT}.entrypoint", f"has no effect: a {kind} has a command of its own")
    if not facts.is_watched and user.get("idle_timeout") is not None:
        text = f"has no effect: a {kind} ends when its command does"
        report.warn(f"{ROOT}.idle_timeout", text)
    if facts.names_itself and user.get("description") is not None:
        text = f"has no effect: {facts.title}s are named by us"
        report.warn(f"{ROOT}.description", text)
    if not facts.has_slots and (user.get("resources") or {}).get("slots"):
        report.warn(f"{ROOT}.resources.slots", f"has no effect: {facts.title}s have no slots")


def _defaults(
    kind: ConfigKind, layers: ConfigLayers, pool_name: str, slots: int | None
) -> dict[str, Any]:
    """The part of `task_container_defaults` that applies to such a task."""
    defaults = container_defaults(layers, pool_name)
    partial = as_experiment(defaults, has_slots=slots != 0)
    resources = {**partial.get("resources", {}), "shm_size": defaults.get("shm_size_bytes")}
    known = {key: item for key, item in partial.items() if key in schema_of(kind).fields}
    return {**known, "resources": resources, "work_dir": defaults.get("work_dir")}


def _name_and_time(kind: ConfigKind, config: dict[str, Any], options: TaskOptions) -> None:
    facts = _kind(kind)
    if not facts.title:
        return
    if facts.names_itself or config.get("description") is None:
        config["description"] = f"{facts.title} ({options.name})"
    if not facts.is_watched:
        config["idle_timeout"] = None
    elif config.get("idle_timeout") is None and options.idle_timeout is not None:
        config["idle_timeout"] = format_duration(options.idle_timeout)


def _check_constraints(
    resources: Mapping[str, Any], layers: ConfigLayers, *, priorities: PriorityOrder
) -> None:
    policies = layers.policies
    found = find_violations(resources, policies, priorities=priorities)
    if found:
        text = "; ".join(found)
        raise InvalidArgument(f"failed constraint check: {text}. Ask for less; {policies.remedy}")
