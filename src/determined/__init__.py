"""The client: SDK, command line and training harness of Determined.

Names are imported on first use, which keeps `import determined` at a few milliseconds.
"""

from determined.__version__ import __version__ as __version__

TYPE_CHECKING = False  # type checkers treat it as true; importing `typing` takes 10 ms

if TYPE_CHECKING:
    from determined import core as core
    from determined import errors as errors
    from determined._autolog import autolog as autolog
    from determined._constants import LOG_FORMAT as LOG_FORMAT
    from determined._env_context import EnvContext as EnvContext
    from determined._experiment_config import ExperimentConfig as ExperimentConfig
    from determined._import import import_from_path as import_from_path
    from determined._info import ClusterInfo as ClusterInfo
    from determined._info import RendezvousInfo as RendezvousInfo
    from determined._info import ResourcesInfo as ResourcesInfo
    from determined._info import TrialInfo as TrialInfo
    from determined._info import get_cluster_info as get_cluster_info
    from determined._trial_context import LegacyTrial as LegacyTrial
    from determined._trial_context import TrialContext as TrialContext
    from determined.errors import InvalidHP as InvalidHP

_MODULE_OF = {
    "ClusterInfo": "_info",
    "EnvContext": "_env_context",
    "ExperimentConfig": "_experiment_config",
    "InvalidHP": "errors",
    "LOG_FORMAT": "_constants",
    "LegacyTrial": "_trial_context",
    "RendezvousInfo": "_info",
    "ResourcesInfo": "_info",
    "TrialContext": "_trial_context",
    "TrialInfo": "_info",
    "autolog": "_autolog",
    "get_cluster_info": "_info",
    "import_from_path": "_import",
}
_MODULES = (
    *("common", "core", "errors", "experimental", "ipc", "launch", "pytorch", "tensorboard"),
    "util",
)


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULE_OF:
        value = getattr(import_module(f"determined.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return import_module(f"determined.{name}")
    raise AttributeError(f"module 'determined' has no attribute {name!r}")
