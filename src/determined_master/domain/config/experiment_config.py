"""A completed configuration of an experiment in the form that decisions are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any, TypeVar

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.schema.containers import Field, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.sections.hyperparameters import (
    HyperparameterSpace,
    typed_space,
)
from determined_master.domain.config.sections.log_policies import LogPolicy, typed_policies
from determined_master.domain.config.sections.resources import ResourcesConfig, typed_resources
from determined_master.domain.config.sections.searcher import (
    STORED_SEARCHER,
    SearcherConfig,
    typed_searcher,
)
from determined_master.domain.config.sections.storage import (
    CheckpointStorage,
    KeepCounts,
    typed_keep_counts,
    typed_storage,
)
from determined_master.domain.task.containers import ContainerConfig, typed_containers

STORED_EXPERIMENT = replace(
    EXPERIMENT, fields={**EXPERIMENT.fields, "searcher": Field(STORED_SEARCHER, is_required=True)}
)
"""The schema of experiments that any release has stored."""
UNREADABLE = (AttributeError, KeyError, TypeError, ValueError)
"""Errors of a section that is not in the form of this release."""

_SECTIONS: Mapping[str, Callable[[Any], Any]] = {
    "searcher": typed_searcher,
    "hyperparameters": typed_space,
    "resources": typed_resources,
    "checkpoint_storage": typed_storage,
    "log_policies": typed_policies,
}
_OF_CONTAINERS = ("environment", "bind_mounts", "resources")
T = TypeVar("T")
_REQUIRED = ("name", "labels", "max_restarts", "preemption_timeout")
"""Keys that a configuration of this release has besides those that its sections read."""


class ExperimentConfig:
    """Typed sections of a configuration as `build_experiment` gives and the database holds it.

    A section is converted when it is first read: what reads the pool does not pay for the space
    of hyperparameters. A section that an older release has stored is read by the schema: older
    forms are translated, unknown keys are left out and missing values have their defaults.

    Args:
        document: JSON values; not changed, and not to be changed.
    """

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExperimentConfig) and self._document == other._document

    __hash__ = None  # type: ignore[assignment]  # its document may hold lists

    def convert(self) -> ExperimentConfig:
        """Convert all sections now; returns itself.

        Raises:
            AttributeError, KeyError, TypeError, ValueError: a section has an older form.
        """
        if missing := [key for key in _REQUIRED if key not in self._document]:
            raise KeyError(*missing)
        if "environment_variables" not in self._document["environment"]:
            raise KeyError("environment_variables")
        for name, read in _SECTIONS.items():
            vars(self)[name] = read(self._document[name])
        vars(self)["containers"] = typed_containers(self._document)
        self._document["reproducibility"]["experiment_seed"]
        return self

    @property
    def name(self) -> str:
        return str(self._document["name"])

    @property
    def description(self) -> str:
        return self._document.get("description") or ""

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple(self._document.get("labels") or ())

    @cached_property
    def searcher(self) -> SearcherConfig:
        return self._section("searcher", typed_searcher)

    @property
    def searcher_name(self) -> str:
        """The method's name; of one that only earlier releases had, too."""
        return str(self._document["searcher"]["name"])

    @cached_property
    def hyperparameters(self) -> HyperparameterSpace:
        return self._section("hyperparameters", typed_space)

    @cached_property
    def resources(self) -> ResourcesConfig:
        return self._section("resources", typed_resources)

    @cached_property
    def checkpoint_storage(self) -> CheckpointStorage:
        return self._section("checkpoint_storage", typed_storage)

    @cached_property
    def keep_counts(self) -> KeepCounts:
        """How many checkpoints are kept, also in a storage that no release can reach any more."""
        return self._section("checkpoint_storage", typed_keep_counts)

    @cached_property
    def containers(self) -> ContainerConfig:
        try:
            return typed_containers(self._document)
        except UNREADABLE:
            read = {name: self._completed(name) for name in _OF_CONTAINERS}
            return typed_containers({**self._document, **read})

    @property
    def max_restarts(self) -> int:
        return self._section("max_restarts", int)

    @property
    def preemption_timeout_s(self) -> int:
        return self._section("preemption_timeout", int)

    @property
    def seed(self) -> int:
        """Of the search, 0 to 2^32-1."""
        return int(self._document["reproducibility"]["experiment_seed"])

    @cached_property
    def log_policies(self) -> tuple[LogPolicy, ...]:
        return self._section("log_policies", typed_policies)

    @property
    def entrypoint(self) -> str | tuple[str, ...] | None:
        given = self._document.get("entrypoint")
        return tuple(given) if isinstance(given, list) else given

    @property
    def log_retention_days(self) -> int | None:
        """-1 forever; None for the cluster's default."""
        days: int | None = (self._document.get("retention_policy") or {}).get("log_retention_days")
        return days

    def _section(self, name: str, read: Callable[[Any], T]) -> T:
        try:
            return read(self._document[name])
        except UNREADABLE:
            return read(self._completed(name))

    def _completed(self, name: str) -> Any:
        part = Object({name: STORED_EXPERIMENT.fields[name]})
        known = part.read({name: self._document.get(name)}, "", ProblemReport())
        return part.complete(known)[name]
