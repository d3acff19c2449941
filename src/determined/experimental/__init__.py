"""The public client: classes here, functions in `determined.experimental.client`."""

from typing import TYPE_CHECKING, Any

from determined.common import experimental as _classes

if TYPE_CHECKING:
    from determined.common.experimental import Checkpoint as Checkpoint
    from determined.common.experimental import Determined as Determined
    from determined.common.experimental import Experiment as Experiment
    from determined.common.experimental import ExperimentReference as ExperimentReference
    from determined.common.experimental import Model as Model
    from determined.common.experimental import ModelOrderBy as ModelOrderBy
    from determined.common.experimental import ModelSortBy as ModelSortBy
    from determined.common.experimental import ModelVersion as ModelVersion
    from determined.common.experimental import OrderBy as OrderBy
    from determined.common.experimental import Project as Project
    from determined.common.experimental import Trial as Trial
    from determined.common.experimental import TrialReference as TrialReference
    from determined.common.experimental import TrialSortBy as TrialSortBy


def __getattr__(name: str) -> Any:
    if name in ("client", "core_v2"):
        from importlib import import_module

        return import_module(f"determined.experimental.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module 'determined.experimental' has no attribute {name!r}")
    return getattr(_classes, name)
