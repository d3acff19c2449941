"""Batch processing of a data set on all ranks, such as inference with a trained model."""

from determined.pytorch.experimental._batch_process import torch_batch_process
from determined.pytorch.experimental._processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
    get_default_device,
)

__all__ = [
    "TorchBatchProcessor",
    "TorchBatchProcessorContext",
    "get_default_device",
    "torch_batch_process",
]
