"""The classes of the public client."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from determined.common.experimental.checkpoint import Checkpoint as Checkpoint
    from determined.common.experimental.determined import Determined as Determined
    from determined.common.experimental.enums import OrderBy as OrderBy
    from determined.common.experimental.enums import TrialSortBy as TrialSortBy
    from determined.common.experimental.experiment import Experiment as Experiment
    from determined.common.experimental.experiment import (
        ExperimentReference as ExperimentReference,
    )
    from determined.common.experimental.metrics import TrainingMetrics as TrainingMetrics
    from determined.common.experimental.metrics import TrialMetrics as TrialMetrics
    from determined.common.experimental.metrics import ValidationMetrics as ValidationMetrics
    from determined.common.experimental.model import Model as Model
    from determined.common.experimental.model import ModelOrderBy as ModelOrderBy
    from determined.common.experimental.model import ModelSortBy as ModelSortBy
    from determined.common.experimental.model import ModelVersion as ModelVersion
    from determined.common.experimental.project import Project as Project
    from determined.common.experimental.resource_pool import ResourcePool as ResourcePool
    from determined.common.experimental.trial import Trial as Trial
    from determined.common.experimental.trial import TrialReference as TrialReference
    from determined.common.experimental.user import User as User
    from determined.common.experimental.workspace import Workspace as Workspace

_MODULE_OF = {
    "Checkpoint": "checkpoint",
    "CheckpointSortBy": "enums",
    "CheckpointState": "enums",
    "Determined": "determined",
    "DownloadMode": "checkpoint",
    "Experiment": "experiment",
    "ExperimentReference": "experiment",
    "ExperimentSortBy": "enums",
    "ExperimentState": "enums",
    "LogLevel": "enums",
    "Model": "model",
    "ModelOrderBy": "model",
    "ModelSortBy": "model",
    "ModelVersion": "model",
    "OrderBy": "enums",
    "Project": "project",
    "ResourcePool": "resource_pool",
    "TrainingMetrics": "metrics",
    "Trial": "trial",
    "TrialMetrics": "metrics",
    "TrialReference": "trial",
    "TrialSortBy": "enums",
    "TrialState": "enums",
    "User": "user",
    "ValidationMetrics": "metrics",
    "Workspace": "workspace",
}
_RENAMED = dict.fromkeys(("CheckpointOrderBy", "ExperimentOrderBy", "TrialOrderBy"), "OrderBy")


def __getattr__(name: str) -> Any:
    from importlib import import_module  # names are imported on first use

    wanted = _RENAMED.get(name, name)
    if wanted not in _MODULE_OF:
        raise AttributeError(f"module 'determined.common.experimental' has no attribute {name!r}")
    value = getattr(import_module(f"determined.common.experimental.{_MODULE_OF[wanted]}"), wanted)
    globals()[name] = value
    return value
