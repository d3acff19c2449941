"""The import of DeepSpeed, with a remedy in the error."""

from __future__ import annotations

from determined.pytorch._torch import torch as torch

try:
    import deepspeed as deepspeed
except ImportError as error:
    if error.name not in (None, "deepspeed"):
        raise
    raise ImportError(
        "determined.pytorch.deepspeed needs DeepSpeed, which this Python does not have: install "
        "deepspeed in the image or environment that the task runs in",
        name="deepspeed",
    ) from error
