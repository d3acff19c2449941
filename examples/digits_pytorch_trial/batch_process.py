"""Reads all digits with the network of a checkpoint, on any number of ranks."""

from __future__ import annotations

import json
import logging

import torch
from model_def import load_data
from torch.utils.data import ConcatDataset

import determined as det
from determined import pytorch
from determined.experimental import client
from determined.pytorch import experimental


class DigitsProcessor(experimental.TorchBatchProcessor):
    """Stores what the network reads, and counts how often it is right."""

    def __init__(self, context: experimental.TorchBatchProcessorContext) -> None:
        self.context = context
        self.rank = context.get_distributed_rank()
        checkpoint = client.get_checkpoint(context.get_hparams()["checkpoint"])
        context.report_task_using_checkpoint(checkpoint)
        path = checkpoint.download(f"model-of-rank-{self.rank}")
        trial = pytorch.load_trial_from_checkpoint_path(path)
        self.model = context.prepare_model_for_inference(trial.model)
        self.right = context.wrap_reducer(lambda values: sum(values) / len(values), "accuracy")
        self.read: dict[int, list[int]] = {}

    def process_batch(self, batch, batch_idx: int) -> None:
        """Read a batch of images."""
        images, labels = self.context.to_device(batch)
        with torch.inference_mode():
            digits = self.model(images).argmax(1)
        self.read[batch_idx] = digits.tolist()
        for is_right in (digits == labels).tolist():
            self.right.update(is_right)

    def on_checkpoint_start(self) -> None:
        """Store what was read since the last checkpoint."""
        if self.read:
            with self.context.upload_path() as path:
                name = f"rank-{self.rank}-from-batch-{min(self.read)}.json"
                (path / name).write_text(json.dumps(self.read))
            self.read = {}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    experimental.torch_batch_process(DigitsProcessor, ConcatDataset(load_data()), batch_size=64)
