"""Limits on the numbers of a configuration that become rows, events or memory. PURE.

One request could otherwise be everybody's work. Each limit is a setting of the master.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import Meta

from determined_master.domain.config.schema.problems import ROOT, ProblemReport

SETTING = "config_limits"
"""The section of the settings."""
_KIB = 1024
_YEAR_S = 365 * 24 * 3600


class ConfigLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the configurations of experiments and tasks."""

    max_trials: Annotated[
        int, Meta(ge=1, description="Trials of a search, and points of a grid.")
    ] = 10_000
    max_waiting_trials: Annotated[
        int,
        Meta(
            ge=1,
            description=(
                "Trials of one search that wait for slots; it creates 100 more when fewer wait."
            ),
        ),
    ] = 100
    max_rungs: Annotated[int, Meta(ge=1, description="Rungs of all brackets of a search.")] = 2500
    max_brackets: Annotated[int, Meta(ge=1, le=200, description="Brackets of a search.")] = 64
    max_hyperparameters: Annotated[
        int, Meta(ge=1, description="Hyperparameters, those of groups included.")
    ] = 2000
    max_hyperparameter_depth: Annotated[
        int, Meta(ge=1, le=64, description="Groups of hyperparameters inside each other.")
    ] = 32
    max_hyperparameter_bytes: Annotated[
        int,
        Meta(ge=1, description="Size of `hyperparameters` as JSON; each trial stores its own."),
    ] = 256 * _KIB
    max_restarts: Annotated[int, Meta(ge=0, description="Restarts of a trial.")] = 1000
    max_slots: Annotated[int, Meta(ge=0, description="Slots of one trial or task.")] = 10_000
    max_preemption_timeout: Annotated[
        int, Meta(ge=0, le=100 * _YEAR_S, description="Seconds of `preemption_timeout`.")
    ] = 10 * _YEAR_S
    max_proxy_ports: Annotated[
        int, Meta(ge=0, description="`environment.proxy_ports`; each is in every list of tasks.")
    ] = 32
    max_ports: Annotated[int, Meta(ge=0, description="`environment.ports`.")] = 100
    max_variables: Annotated[
        int, Meta(ge=0, description="`environment.environment_variables` of a device type.")
    ] = 1000
    max_capabilities: Annotated[
        int, Meta(ge=0, description="Capabilities to add, and to drop.")
    ] = 100
    max_bind_mounts: Annotated[int, Meta(ge=0, description="`bind_mounts`.")] = 100
    max_devices: Annotated[int, Meta(ge=0, description="`resources.devices`.")] = 100
    max_log_policies: Annotated[
        int, Meta(ge=0, description="`log_policies`; each is tried with every line.")
    ] = 100
    max_labels: Annotated[int, Meta(ge=0, description="Labels of an experiment.")] = 100
    max_webhooks: Annotated[
        int, Meta(ge=0, description="Webhooks that an experiment names, by id and by name.")
    ] = 100
    max_config_bytes: Annotated[
        int, Meta(ge=_KIB, description="Size of a whole configuration as JSON.")
    ] = 1024 * _KIB


class _Bound(NamedTuple):
    key: str
    limit: str
    """Name of the field of `ConfigLimits`."""
    measure: Callable[[Any], int]
    text: str
    """How the size reads in an error."""


def check_sizes(config: Mapping[str, Any], limits: ConfigLimits, report: ProblemReport) -> None:
    """Report the numbers of a completed configuration that are above their limits."""
    for bound in _BOUNDS:
        value = _at(config, bound.key) if bound.key else config
        if value is None:
            continue
        size, limit = bound.measure(value), getattr(limits, bound.limit)
        if size > limit:
            at = f"{ROOT}.{bound.key}" if bound.key else ROOT
            report.problem(at, f"{bound.text.format(f'{size:,}')}, {remedy(bound.limit, limit)}")


def remedy(name: str, limit: int) -> str:
    """The end of an error about a size: the limit, and the setting that raises it."""
    return f"at most {limit:,} allowed: lower it, or ask an admin to raise {SETTING}.{name}"


def _at(config: Mapping[str, Any], key: str) -> Any:
    value: Any = config
    for part in key.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _number(value: Any) -> int:
    return int(value)


def _largest_list(value: Any) -> int:
    """The number of variables of the device type that has the most."""
    return max((len(items) for items in value.values()), default=0)


def _json_bytes(value: Any) -> int:
    return len(msgspec.json.encode(value))


def _groups(space: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Every group of hyperparameters with its depth, without recursion."""
    groups: list[tuple[int, Mapping[str, Any]]] = [(1, space)]
    while groups:
        depth, group = groups.pop()
        yield depth, group
        groups += [
            (depth + 1, spec)
            for spec in group.values()
            if isinstance(spec, Mapping) and "type" not in spec
        ]


def _depth(space: Any) -> int:
    return max(depth for depth, _ in _groups(space))


def _count(space: Any) -> int:
    return sum(len(group) for _, group in _groups(space))


_BOUNDS = (
    _Bound("searcher.max_trials", "max_trials", _number, "is {}"),
    _Bound("max_restarts", "max_restarts", _number, "is {}"),
    _Bound("preemption_timeout", "max_preemption_timeout", _number, "is {}"),
    _Bound("resources.slots_per_trial", "max_slots", _number, "is {}"),
    _Bound("resources.slots", "max_slots", _number, "is {}"),
    _Bound("resources.devices", "max_devices", len, "has {} devices"),
    _Bound("environment.proxy_ports", "max_proxy_ports", len, "has {} ports"),
    _Bound("environment.ports", "max_ports", len, "has {} ports"),
    _Bound(
        "environment.environment_variables", "max_variables", _largest_list, "has {} variables"
    ),
    _Bound("environment.add_capabilities", "max_capabilities", len, "has {} capabilities"),
    _Bound("environment.drop_capabilities", "max_capabilities", len, "has {} capabilities"),
    _Bound("bind_mounts", "max_bind_mounts", len, "has {} mounts"),
    _Bound("log_policies", "max_log_policies", len, "has {} policies"),
    _Bound("labels", "max_labels", len, "has {} labels"),
    _Bound("integrations.webhooks.webhook_id", "max_webhooks", len, "has {} webhooks"),
    _Bound("integrations.webhooks.webhook_name", "max_webhooks", len, "has {} webhooks"),
    _Bound("hyperparameters", "max_hyperparameters", _count, "has {} hyperparameters"),
    _Bound("hyperparameters", "max_hyperparameter_depth", _depth, "is {} groups deep"),
    _Bound("hyperparameters", "max_hyperparameter_bytes", _json_bytes, "takes {} bytes"),
    _Bound("", "max_config_bytes", _json_bytes, "takes {} bytes"),
)
