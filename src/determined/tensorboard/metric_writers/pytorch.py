"""PyTorch's SummaryWriter for this trial's directory. Deprecated."""

from __future__ import annotations

import warnings
from typing import Any

from determined.tensorboard._manager import get_base_path
from determined.tensorboard._writer import MetricWriter


class TorchWriter(MetricWriter):
    """Wraps a `torch.utils.tensorboard.SummaryWriter`, its attribute `writer`.

    Raises:
        ImportError: PyTorch or the package tensorboard is not installed.
    """

    def __init__(self) -> None:
        warnings.warn(
            "TorchWriter is deprecated: use get_tensorboard_writer() of a trial's context, or "
            "SummaryWriter(log_dir=core_context.train.get_tensorboard_path())",
            FutureWarning,
            stacklevel=2,
        )
        try:
            from torch.utils.tensorboard import SummaryWriter
        except ImportError as error:
            raise ImportError(
                "TorchWriter needs the packages torch and tensorboard: install them in the image "
                f"or environment that the task runs in ({error})"
            ) from error
        self.writer: Any = SummaryWriter(log_dir=str(get_base_path({})))

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Write one number."""
        self.writer.add_scalar(name, value, step)

    def reset(self) -> None:
        """Close the file; the next number starts a new one."""
        self.writer.close()

    def flush(self) -> None:
        """Flush the written numbers."""
        self.writer.flush()
