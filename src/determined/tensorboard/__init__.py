"""TensorBoard files: writing them and uploading them to the storage."""

from determined.tensorboard._manager import (
    DirectoryTensorboardManager,
    SharedFSTensorboardManager,
    TensorboardManager,
    build,
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
