"""The base of managers of TensorBoard files, under its public name."""

from determined.tensorboard._manager import TensorboardManager
from determined.tensorboard._writer import get_metric_writer

__all__ = ["TensorboardManager", "get_metric_writer"]
