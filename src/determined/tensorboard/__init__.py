"""TensorBoard files: writing them and uploading them to the storage."""

from determined.tensorboard._manager import (
    DirectoryTensorboardManager,
    SharedFSTensorboardManager,
    TensorboardManager,
    get_base_path,
    get_experiment_sync_path,
    get_sync_path,
)
from determined.tensorboard._writer import (
    BatchMetricWriter,
    EventFileWriter,
    MetricWriter,
    get_metric_writer,
)
from determined.tensorboard.build import build

__all__ = [
    "BatchMetricWriter",
    "DirectoryTensorboardManager",
    "EventFileWriter",
    "MetricWriter",
    "SharedFSTensorboardManager",
    "TensorboardManager",
    "build",
    "get_base_path",
    "get_experiment_sync_path",
    "get_metric_writer",
    "get_sync_path",
]

_MODULE_OF = {
    "AzureTensorboardManager": "azure",
    "GCSTensorboardManager": "gcs",
    "S3TensorboardManager": "s3",
}


def __getattr__(name: str) -> object:
    # The clients of object storage are imported only where it is used.
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"determined.tensorboard.{_MODULE_OF[name]}"), name)
