"""Trains a small convolutional network on scikit-learn's digits, on any number of ranks.

Started by `determined.launch.torch_distributed`, one process a slot; the ranks average their
gradients with torch's DistributedDataParallel (gloo on CPUs, NCCL on GPUs) and each reads its
share of the images. Run by itself (`python train.py`) it is one rank.
"""

from __future__ import annotations

import contextlib
import logging
import os
import pathlib

import torch
import torch.distributed as dist
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

import determined as det
from determined import core

EPOCHS = int(os.environ.get("EPOCHS", "6"))
VALIDATION_SHARE = 0.25
DEFAULTS = {"learning_rate": 0.05, "channels": 16, "global_batch_size": 64}


def load_data() -> tuple[TensorDataset, TensorDataset]:
    """Images of shape (n, 1, 8, 8) with labels: to train on, and to validate with."""
    digits = load_digits()
    images = torch.tensor(digits.images / 16.0, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images), generator=torch.Generator().manual_seed(0))
    held_out = int(len(images) * VALIDATION_SHARE)
    train, valid = order[held_out:], order[:held_out]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[valid], labels[valid])


def build(channels: int) -> nn.Module:
    """The network, untrained."""
    return nn.Sequential(
        nn.Conv2d(1, channels, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(channels, 2 * channels, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Linear(2 * channels * 16, 10),
    )


def save(context: core.Context, model: nn.Module, epoch: int) -> None:
    """Store the weights as a checkpoint; only the chief does."""
    with context.checkpoint.store_path({"steps_completed": epoch}) as (path, _):
        torch.save({"epoch": epoch, "model": model.state_dict()}, path / "state.pt")


def load(model: nn.Module, path: pathlib.Path) -> int:
    """Read a checkpoint's weights; return the epochs that they had been trained."""
    state = torch.load(path / "state.pt", weights_only=True, map_location="cpu")
    model.load_state_dict(state["model"])
    return int(state["epoch"])


def device_of(local_rank: int) -> torch.device:
    """The GPU of a rank, where tasks have GPUs; else the processor."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    torch.cuda.set_device(local_rank)
    return torch.device("cuda", local_rank)


def accuracy_of(model: nn.Module, valid: TensorDataset) -> float:
    """Share of the held-out images that the network reads right."""
    device = next(model.parameters()).device
    images, labels = (part.to(device) for part in valid.tensors)
    model.eval()
    with torch.no_grad():
        right = (model(images).argmax(1) == labels).float().mean()
    model.train()
    return float(right)


def train(context: core.Context, hparams: dict, latest: str | None) -> float:
    """Train to the last epoch, or until asked to leave; return the validation accuracy."""
    group = context.distributed
    train_set, valid_set = load_data()
    device = device_of(group.local_rank)
    bare = build(int(hparams["channels"])).to(device)
    epoch = 0
    if latest is not None:
        with context.checkpoint.restore_path(latest) as path:
            epoch = load(bare, path)
    model = DistributedDataParallel(bare) if group.size > 1 else bare
    optimizer = torch.optim.SGD(model.parameters(), lr=hparams["learning_rate"], momentum=0.9)
    sampler = DistributedSampler(train_set, group.size, group.rank, shuffle=True)
    batch = max(1, int(hparams["global_batch_size"]) // group.size)
    loader = DataLoader(train_set, batch, sampler=sampler)
    accuracy = 0.0
    while epoch < EPOCHS:
        sampler.set_epoch(epoch)
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images.to(device)), labels.to(device))
            loss.backward()
            optimizer.step()
        epoch += 1
        if group.rank == 0:
            accuracy = accuracy_of(bare, valid_set)
            context.train.report_training_metrics(epoch, {"loss": float(loss)})
            context.train.report_validation_metrics(epoch, {"validation_accuracy": accuracy})
            save(context, bare, epoch)
        if context.preempt.should_preempt():
            break
    return accuracy


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    info = det.get_cluster_info()
    hparams = {**DEFAULTS, **(info.trial.hparams if info else {})}
    torch.manual_seed(info.trial.trial_seed if info else 0)
    torch.set_num_threads(1)  # one slot is one core
    distributed = None
    with contextlib.ExitStack() as stack:
        if "RANK" in os.environ:
            device = device_of(int(os.environ["LOCAL_RANK"]))
            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            stack.callback(dist.destroy_process_group)
            distributed = core.DistributedContext.from_torch_distributed()
        with core.init(distributed=distributed) as context:
            rank, size = context.distributed.rank, context.distributed.size
            logging.info("rank %d of %d trains", rank, size)
            accuracy = train(context, hparams, info.latest_checkpoint if info else None)
            if rank == 0:
                logging.info("validation accuracy %.4f on %d ranks", accuracy, size)


if __name__ == "__main__":
    main()
