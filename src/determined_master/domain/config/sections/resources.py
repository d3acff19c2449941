"""The resources of a trial, and how its experiment shares them with others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import (
    Boolean,
    Integer,
    Number,
    OneOf,
    Text,
    ValueType,
)
from determined_master.domain.config.sections.mounts import DEVICE, container_path

DEFAULT_PRIORITY = 42
"""Used where the pool sets none."""

_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(?:([kmgtp])(?:i?b)?|b)?", re.IGNORECASE | re.ASCII)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


class TopologyConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The typed form of `resources.topology`."""

    domain: str
    is_required: bool = False


class ResourcesConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The typed form of a completed `resources` section."""

    slots_per_trial: int
    resource_pool: str
    priority: int
    weight: float = 1
    max_slots: int | None = None
    """Most slots of all trials together; None for no limit."""
    is_single_node: bool = False
    shm_size_bytes: int | None = None
    topology: TopologyConfig | None = None


def typed_resources(config: Mapping[str, Any]) -> ResourcesConfig:
    """The typed form of a completed `resources` section."""
    return ResourcesConfig(
        slots_per_trial=config["slots_per_trial"],
        resource_pool=config["resource_pool"],
        priority=DEFAULT_PRIORITY if config["priority"] is None else config["priority"],
        weight=config["weight"],
        max_slots=config.get("max_slots"),
        is_single_node=bool(config.get("is_single_node")),
        shm_size_bytes=config.get("shm_size"),
        topology=_typed_topology(config.get("topology")),
    )


def _typed_topology(config: Mapping[str, Any] | None) -> TopologyConfig | None:
    if not config:
        return None
    return TopologyConfig(domain=config["domain"], is_required=bool(config.get("required")))


class QueueTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The part of a `resources` section that orders the queue; tasks of every type have it."""

    priority: int
    weight: float
    max_slots: int | None = None


def typed_terms(config: Mapping[str, Any]) -> QueueTerms:
    """The terms of a completed `resources` section."""
    return QueueTerms(
        priority=int(config["priority"]),
        weight=float(config["weight"]),
        max_slots=config.get("max_slots"),
    )


class MemorySize(ValueType):
    """A number of bytes, or a text such as `64m` or `1.5 GiB` (units of 1024)."""

    noun = "integer"

    def read(self, value: Any, at: str, report: ProblemReport) -> int | None:
        if not isinstance(value, str):
            return Integer(at_least=0).read(value, at, report)
        match = _SIZE.fullmatch(value)
        if match is None:
            report.problem(at, f'must be a valid memory size such as "64m", but found "{value}"')
            return None
        size = int(Decimal(match[1]) * 1024 ** _POWERS[(match[2] or "").lower()])
        return Integer(at_least=0).read(size, at, report)

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "integer", "minimum": 0}, {"type": "string"}]}


def _fits_its_limit(resources: dict[str, Any], at: str, report: ProblemReport) -> None:
    slots, limit = resources.get("slots_per_trial"), resources.get("max_slots")
    if slots is not None and limit is not None and slots > limit:
        text = f"slots_per_trial ({slots}) is more than max_slots ({limit}): no trial could start"
        report.problem(at, text)


PRIORITY = Integer(at_least=1, at_most=99)
AGENT_LABEL = Field(
    Text(), is_hidden_when_null=True, no_effect="has no effect any more: use resource_pool"
)

TOPOLOGY = Object(
    {
        "domain": Field(
            OneOf(("hostname", "rack", "zone")),
            is_required=True,
            doc="What all pods of a trial share: a node, a rack or a zone.",
        ),
        "required": Field(
            Boolean(), False, "Whether a trial waits for a domain that holds all of its pods."
        ),
    }
)

RESOURCES = Object(
    {
        "slots_per_trial": Field(Integer(at_least=0), 1, "Slots of each trial; 0 for none."),
        "max_slots": Field(Integer(at_least=0), doc="Most slots of all trials together."),
        "weight": Field(Number(above=0), 1, "Share of the pool under the fair_share scheduler."),
        "priority": Field(PRIORITY, doc="1 is the most urgent, 99 the least."),
        "resource_pool": Field(Text(), "", "Where trials run; empty for the default pool."),
        "is_single_node": Field(Boolean(), doc="Whether all slots must be of one agent."),
        "shm_size": Field(MemorySize(), doc="Shared memory of each container."),
        "devices": Field(ListOf(DEVICE, key=container_path), [], "Devices of the host."),
        "topology": Field(
            TOPOLOGY,
            is_hidden_when_null=True,
            doc="Which part of a Kubernetes cluster all pods of a trial share.",
        ),
        "native_parallel": Field(
            Boolean(), False, is_required=False, no_effect="has no effect any more"
        ),
        "agent_label": AGENT_LABEL,
    },
    rules=(_fits_its_limit,),
)
