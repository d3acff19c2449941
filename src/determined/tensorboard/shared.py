"""TensorBoard files in a shared file system, under the public name."""

from determined.tensorboard._manager import SharedFSTensorboardManager

__all__ = ["SharedFSTensorboardManager"]
