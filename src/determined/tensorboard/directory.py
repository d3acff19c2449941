"""TensorBoard files in a directory, under the public name."""

from determined.tensorboard._manager import DirectoryTensorboardManager

__all__ = ["DirectoryTensorboardManager"]
