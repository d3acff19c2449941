"""The schemas of tasks that are no trials: interactive and generic tasks."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from determined_master.domain.config.layers import DEFAULT_PREEMPTION_TIMEOUT_S
from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import (
    Boolean,
    Integer,
    Number,
    OneOf,
    Text,
    ValueType,
    expected,
)
from determined_master.domain.config.sections.environment import ENVIRONMENT
from determined_master.domain.config.sections.minor import PBS, SLURM
from determined_master.domain.config.sections.mounts import BIND_MOUNTS, DEVICE, container_path
from determined_master.domain.config.sections.resources import AGENT_LABEL, PRIORITY, MemorySize
from determined_master.domain.durations import format_duration, parse_duration
from determined_master.domain.task.kinds import ConfigKind

IDLE_TYPES = ("kernels_or_terminals", "kernel_connections", "activity")


class DurationText(ValueType):
    """A duration as a text such as `1h30m`, or in seconds; the canonical form is the text."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if isinstance(value, str):
            length = parse_duration(value)
        elif isinstance(value, bool) or not isinstance(value, (int, float)):
            report.problem(at, expected("string", value))
            return None
        else:
            length = parse_duration(f"{value}s")
        if length is None or length <= timedelta(0):
            report.problem(at, f'must be a length of time such as "30s" or "1h30m", not {value!r}')
            return None
        return format_duration(length)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "number", "exclusiveMinimum": 0}]}


class CommandArguments(ValueType):
    """A command as the list of its words, at least one."""

    noun = "array"

    def read(self, value: Any, at: str, report: ProblemReport) -> list[Any] | None:
        if not isinstance(value, (list, tuple)):
            report.problem(at, expected("array", value))
            return None
        if not value:
            report.problem(at, "must not be empty: name the command to run")
            return None
        return ListOf(Text()).read(value, at, report)

    def json_schema(self) -> dict[str, Any]:
        return {"type": "array", "items": {"type": "string"}, "minItems": 1}


class NotForUsers(ValueType):
    """A constant value for all users."""

    noun = "null"

    def read(self, value: Any, at: str, report: ProblemReport) -> None:
        report.problem(at, "cannot be set: such a task always runs on one agent; leave it out")


def _resources(is_single_node: Field) -> Object:
    return Object(
        {
            "slots": Field(Integer(at_least=0), 1, "Slots of the task; 0 for none."),
            "max_slots": Field(Integer(at_least=0), is_hidden_when_null=True),
            "weight": Field(Number(above=0), 1, "Share of the pool under fair_share."),
            "priority": Field(PRIORITY, doc="1 is the most urgent, 99 the least."),
            "resource_pool": Field(Text(), "", "Resource pool; empty for the default pool."),
            "is_single_node": is_single_node,
            "shm_size": Field(MemorySize(), is_hidden_when_null=True),
            "devices": Field(ListOf(DEVICE, key=container_path), [], "Devices of the host."),
            "native_parallel": Field(
                Boolean(), is_hidden_when_null=True, no_effect="has no effect any more"
            ),
            "agent_label": AGENT_LABEL,
        }
    )


_COMMON: Mapping[str, Field] = {
    "entrypoint": Field(CommandArguments(), doc="The command and its arguments."),
    "bind_mounts": Field(BIND_MOUNTS, [], "Directories of the agent in the container."),
    "environment": Field(ENVIRONMENT, {}, "The environment of the container."),
    "work_dir": Field(Text(), doc="Working directory; $AGENT_USER and $DET_USER are replaced."),
    "debug": Field(Boolean(), False, "Whether the harness logs more."),
    "slurm": Field(SLURM, {}),
    "pbs": Field(PBS, {}),
}

INTERACTIVE = Object(
    {
        **_COMMON,
        "description": Field(Text(), doc="Generated unless given."),
        "resources": Field(_resources(Field(NotForUsers(), True)), {}),
        "tensorboard_args": Field(
            ListOf(Text()), is_hidden_when_null=True, doc="Further words for TensorBoard."
        ),
        "idle_timeout": Field(
            DurationText(), doc="How long the task may be idle before it ends; null for no limit."
        ),
        "notebook_idle_type": Field(
            OneOf(IDLE_TYPES), IDLE_TYPES[0], "Which activity counts as use of a notebook."
        ),
    }
)
"""Commands, notebooks, shells and TensorBoards."""

GENERIC = Object(
    {
        **_COMMON,
        "resources": Field(
            _resources(Field(Boolean(), True, "Whether all slots must be of one agent.")), {}
        ),
        "preemption_timeout": Field(
            Integer(at_least=0), DEFAULT_PREEMPTION_TIMEOUT_S, "Seconds to save work in."
        ),
    }
)


def schema_of(kind: ConfigKind) -> Object:
    """The schema of such tasks."""
    return GENERIC if kind == "generic" else INTERACTIVE
