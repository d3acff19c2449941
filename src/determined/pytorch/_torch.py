"""The import of PyTorch, with a remedy in the error."""

from __future__ import annotations

try:
    import torch as torch
    import torch.utils.data as _  # noqa: F401  # makes torch.utils.data available
except ImportError as error:
    raise ImportError(
        "determined.pytorch needs PyTorch, which this Python does not have: install torch in the "
        "image or environment that the task runs in",
        name="torch",
    ) from error
