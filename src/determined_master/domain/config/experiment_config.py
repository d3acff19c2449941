"""A completed configuration of an experiment in the form that decisions are made from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from determined_master.domain.config.sections.hyperparameters import (
    HyperparameterSpace,
    typed_space,
)
from determined_master.domain.config.sections.log_policies import LogPolicy, typed_policies
from determined_master.domain.config.sections.resources import ResourcesConfig, typed_resources
from determined_master.domain.config.sections.searcher import SearcherConfig, typed_searcher
from determined_master.domain.config.sections.storage import CheckpointStorage, typed_storage
from determined_master.domain.task.containers import ContainerConfig, typed_containers

_SECTIONS = (
    "searcher", "hyperparameters", "resources", "checkpoint_storage", "containers", "log_policies"
)  # fmt: skip
_REQUIRED = ("name", "labels", "max_restarts", "preemption_timeout")
"""Keys that a configuration of this release has besides those that its sections read."""


class ExperimentConfig:
    """Typed sections of a configuration as `build_experiment` gives and the database holds it.

    A section is converted when it is first read: what reads the pool does not pay for the space
    of hyperparameters.

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
        for name in (*_SECTIONS, "seed"):
            getattr(self, name)
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
        return typed_searcher(self._document["searcher"])

    @property
    def searcher_name(self) -> str:
        """The method's name; of one that only earlier releases had, too."""
        return str(self._document["searcher"]["name"])

    @cached_property
    def hyperparameters(self) -> HyperparameterSpace:
        return typed_space(self._document["hyperparameters"])

    @cached_property
    def resources(self) -> ResourcesConfig:
        return typed_resources(self._document["resources"])

    @cached_property
    def checkpoint_storage(self) -> CheckpointStorage:
        return typed_storage(self._document["checkpoint_storage"])

    @cached_property
    def containers(self) -> ContainerConfig:
        return typed_containers(self._document)

    @property
    def max_restarts(self) -> int:
        return int(self._document["max_restarts"])

    @property
    def preemption_timeout_s(self) -> int:
        return int(self._document["preemption_timeout"])

    @property
    def seed(self) -> int:
        """Of the search, 0 to 2^32-1."""
        return int(self._document["reproducibility"]["experiment_seed"])

    @cached_property
    def log_policies(self) -> tuple[LogPolicy, ...]:
        return typed_policies(self._document["log_policies"])

    @property
    def entrypoint(self) -> str | tuple[str, ...] | None:
        given = self._document.get("entrypoint")
        return tuple(given) if isinstance(given, list) else given

    @property
    def log_retention_days(self) -> int | None:
        """-1 forever; None for the cluster's default."""
        days: int | None = (self._document.get("retention_policy") or {}).get("log_retention_days")
        return days
