"""The whole schema of an experiment's configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.domain.config.layers import DEFAULT_PREEMPTION_TIMEOUT_S
from determined_master.domain.config.schema.containers import Field, ListOf, MapOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import (
    Anything,
    Boolean,
    Integer,
    OneOf,
    Text,
    ValueType,
    type_name,
)
from determined_master.domain.config.sections.environment import ENVIRONMENT
from determined_master.domain.config.sections.hyperparameters import GROUP_NAME, Hyperparameters
from determined_master.domain.config.sections.lengths import Length
from determined_master.domain.config.sections.log_policies import LOG_POLICIES
from determined_master.domain.config.sections.minor import (
    INTEGRATIONS,
    OPTIMIZATIONS,
    PBS,
    PROFILING,
    REPRODUCIBILITY,
    RETENTION_POLICY,
    SECURITY,
    SLURM,
)
from determined_master.domain.config.sections.mounts import BIND_MOUNTS
from determined_master.domain.config.sections.resources import RESOURCES
from determined_master.domain.config.sections.searcher import SEARCHER
from determined_master.domain.config.sections.storage import STORAGE, TENSORBOARD_STORAGE


class Labels(ListOf):
    """A set of texts; the older form is a map from each text to true. Layers add up."""

    def read(self, value: Any, at: str, report: ProblemReport) -> list[Any] | None:
        if isinstance(value, Mapping):
            value = [label for label, is_on in value.items() if is_on]
        read = super().read(value, at, report)
        return None if read is None else list(dict.fromkeys(read))


class Entrypoint(ValueType):
    """A text for the shell, or a list of arguments."""

    noun = "string"

    def read(self, value: Any, at: str, report: ProblemReport) -> str | list[Any] | None:
        if isinstance(value, str):
            return Text().read(value, at, report)
        if isinstance(value, list):
            return ListOf(Text()).read(value, at, report)
        text = f"expected string, array or null, but got {type_name(value)}"
        report.problem(at, text)
        return None

    def json_schema(self) -> dict[str, Any]:
        return {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}


class Nothing(ValueType):
    """A key that only very old configurations have, always null."""

    noun = "null"

    def read(self, value: Any, at: str, report: ProblemReport) -> None:
        report.problem(at, f"expected null, but got {type_name(value)}")

    def json_schema(self) -> dict[str, Any]:
        return {"type": "null"}


def _not_blank(name: str) -> str | None:
    return None if name.strip() else "must not be blank"


def _same(label: Any) -> Any:
    return label


_HARNESS = "has no effect any more: set it in the training script"
_CLASSES = "applies only to trial classes (module:Class): a script passes it to its trainer"

EXPERIMENT = Object(
    {
        "name": Field(Text(_not_blank), is_required=True, doc="Shown in lists."),
        "description": Field(Text(), doc="Shown next to the name."),
        "labels": Field(Labels(Text(), key=_same), [], "Labels for search and filters."),
        "data": Field(MapOf(Anything()), {}, "Free-form values for the training script."),
        "workspace": Field(Text(), "", "Name of the workspace; needs project."),
        "project": Field(Text(), "", "Name of the project; needs workspace."),
        "entrypoint": Field(Entrypoint(), doc="The command to run."),
        "hyperparameters": Field(
            Hyperparameters(), {}, "The hyperparameter space.", is_required=True
        ),
        "searcher": Field(SEARCHER, doc="The search method.", is_required=True),
        "resources": Field(RESOURCES, {}, "The resources of each trial."),
        "environment": Field(ENVIRONMENT, {}, "The environment of the containers."),
        "bind_mounts": Field(BIND_MOUNTS, [], "Directories of the agent in the containers."),
        "checkpoint_storage": Field(
            STORAGE, doc="Where checkpoints are stored.", is_required=True
        ),
        "checkpoint_policy": Field(
            OneOf(("best", "all", "none")), "best", "Which validations trigger a checkpoint."
        ),
        "perform_initial_validation": Field(
            Boolean(), False, "Whether to validate before the first batch."
        ),
        "max_restarts": Field(Integer(at_least=0), 5, "Restarts of a trial after failures."),
        "preemption_timeout": Field(
            Integer(at_least=0),
            DEFAULT_PREEMPTION_TIMEOUT_S,
            "Seconds that a preempted task has to save its work.",
        ),
        "log_policies": Field(LOG_POLICIES, [], "Actions when a line of the log matches."),
        "retention_policy": Field(
            RETENTION_POLICY, is_hidden_when_null=True, doc="How long logs are kept."
        ),
        "integrations": Field(INTEGRATIONS, doc="Webhooks, and the source of the data."),
        "reproducibility": Field(REPRODUCIBILITY, {}, "The search's seed.", is_required=True),
        "profiling": Field(PROFILING, {}, "Recording of the machine's usage."),
        "slurm": Field(SLURM, {}, "Options of Slurm; kept for launchers that use it."),
        "pbs": Field(PBS, {}, "Options of PBS; kept for launchers that use it."),
        "debug": Field(Boolean(), False, "Whether the harness logs more."),
        "optimizations": Field(OPTIMIZATIONS, {}, "Options of older trainers."),
        "scheduling_unit": Field(Integer(at_least=1), 100, no_effect=_CLASSES),
        "records_per_epoch": Field(Integer(at_least=0), 0, no_effect=_HARNESS),
        "min_validation_period": Field(Length(), {"batches": 0}, no_effect=_CLASSES),
        "min_checkpoint_period": Field(Length(), {"batches": 0}, no_effect=_CLASSES),
        "data_layer": Field(
            Anything(), is_hidden_when_null=True, no_effect="has no effect any more"
        ),
        "internal": Field(
            Nothing(), is_hidden_when_null=True, doc="Null, in very old configurations."
        ),
        "security": Field(SECURITY, is_hidden_when_null=True, no_effect="has no effect any more"),
        "tensorboard_storage": Field(
            TENSORBOARD_STORAGE,
            is_hidden_when_null=True,
            no_effect="has no effect: event files go to checkpoint_storage",
        ),
    }
)


def json_schema() -> dict[str, Any]:
    """A JSON Schema of what users write, for their editors."""
    schema = EXPERIMENT.json_schema()
    schema["properties"]["version"] = {"enum": [0, None]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "Experiment configuration",
        "definitions": {GROUP_NAME: Hyperparameters().group_schema()},
        **schema,
    }
