"""PyTorch training: trial classes, the trainer, and their contexts.

Names are imported on first use. The package can be imported without PyTorch; only names that need
PyTorch require it.
"""

TYPE_CHECKING = False  # as in `determined`: type checkers treat it as true

if TYPE_CHECKING:
    from determined.pytorch import samplers as samplers
    from determined.pytorch._batches import TorchData as TorchData
    from determined.pytorch._batches import data_length as data_length
    from determined.pytorch._batches import to_device as to_device
    from determined.pytorch._callback import PyTorchCallback as PyTorchCallback
    from determined.pytorch._context import PyTorchTrialContext as PyTorchTrialContext
    from determined.pytorch._data import DataLoader as DataLoader
    from determined.pytorch._data import adapt_batch_sampler as adapt_batch_sampler
    from determined.pytorch._experimental import (
        PyTorchExperimentalContext as PyTorchExperimentalContext,
    )
    from determined.pytorch._init import init as init
    from determined.pytorch._load import CheckpointLoadContext as CheckpointLoadContext
    from determined.pytorch._load import (
        load_trial_from_checkpoint_path as load_trial_from_checkpoint_path,
    )
    from determined.pytorch._lr_scheduler import LRScheduler as LRScheduler
    from determined.pytorch._reducers import MetricReducer as MetricReducer
    from determined.pytorch._reducers import Reducer as Reducer
    from determined.pytorch._trainer import Trainer as Trainer
    from determined.pytorch._trial import PyTorchTrial as PyTorchTrial
    from determined.pytorch._units import Batch as Batch
    from determined.pytorch._units import Epoch as Epoch
    from determined.pytorch._units import Record as Record
    from determined.pytorch._units import TrainUnit as TrainUnit

_MODULE_OF = {
    "Batch": "_units",
    "CheckpointLoadContext": "_load",
    "DataLoader": "_data",
    "Epoch": "_units",
    "LRScheduler": "_lr_scheduler",
    "MetricReducer": "_reducers",
    "PyTorchCallback": "_callback",
    "PyTorchExperimentalContext": "_experimental",
    "PyTorchTrial": "_trial",
    "PyTorchTrialContext": "_context",
    "Record": "_units",
    "Reducer": "_reducers",
    "TorchData": "_batches",
    "TrainUnit": "_units",
    "Trainer": "_trainer",
    "adapt_batch_sampler": "_data",
    "data_length": "_batches",
    "init": "_init",
    "load_trial_from_checkpoint_path": "_load",
    "to_device": "_batches",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _MODULE_OF:
        value = getattr(import_module(f"determined.pytorch.{_MODULE_OF[name]}"), name)
        globals()[name] = value
        return value
    if name == "samplers":
        return import_module("determined.pytorch.samplers")
    raise AttributeError(f"module 'determined.pytorch' has no attribute {name!r}")
