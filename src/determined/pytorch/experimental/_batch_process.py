"""The loop over a data set: sharded by rank, with checkpoints of its progress."""

from __future__ import annotations

import contextlib
import logging
from typing import Any, Dict, Optional, Type

from determined import core
from determined._info import get_cluster_info
from determined._uuid import new_uuid
from determined.core._checkpoint_shards import agree
from determined.pytorch._data import DataLoader
from determined.pytorch._init import gpus_of, join_ranks
from determined.pytorch._torch import torch
from determined.pytorch.experimental import _progress
from determined.pytorch.experimental._processor import (
    TorchBatchProcessor,
    TorchBatchProcessorContext,
)

logger = logging.getLogger("determined.pytorch")

SYNC_EVERY = 10
"""Batches after which several ranks check for a preemption; one rank checks after each."""

_NO_BATCH = object()
_ORDERING = ("shuffle", "sampler", "batch_sampler")


def torch_batch_process(
    batch_processor_cls: Type[TorchBatchProcessor],
    dataset: torch.utils.data.Dataset,
    batch_size: Optional[int] = None,
    max_batches: Optional[int] = None,
    checkpoint_interval: int = 5,
    dataloader_kwargs: Optional[Dict[str, Any]] = None,
    distributed_context: Optional[core.DistributedContext] = None,
) -> None:
    """Process a data set once, in batches that all ranks share.

    Batch `n` is processed by rank `n % size`. The progress is stored as a checkpoint; a run that
    was preempted or killed continues from there. The metrics of reducers are reported at the end
    as validation metrics of all batches, those of earlier runs included.

    Args:
        batch_processor_cls: the class to make an object of on each rank.
        dataset: a data set with a length and an index.
        batch_size: the records of a batch; also taken from `dataloader_kwargs`; by default 1.
        max_batches: the number of batches after which each rank stops.
        checkpoint_interval: the number of batches of each rank between two checkpoints.
        dataloader_kwargs: further arguments of the data loader.
        distributed_context: the ranks, if another launcher than torch's started them.

    Raises:
        ValueError: an argument is invalid, or differs from that of the run to continue.
        TypeError: the data set has no length, or the class is no processor.
    """
    kind = batch_processor_cls
    if not isinstance(kind, type) or not issubclass(kind, TorchBatchProcessor):
        raise TypeError(f"batch_processor_cls must be a TorchBatchProcessor class, got {kind!r}")
    for name, value in (
        ("max_batches", max_batches),
        ("checkpoint_interval", checkpoint_interval),
    ):
        if value is not None and value < 1:
            raise ValueError(f"{name} must be at least 1, got {value}")
    loader = _loader_of(dataset, batch_size, dict(dataloader_kwargs or {}))
    with contextlib.ExitStack() as stack:
        if distributed_context is None:
            distributed_context = join_ranks(stack, gpus_of(get_cluster_info()))
        core_context = stack.enter_context(core.init(distributed=distributed_context))
        _BatchProcess(core_context, loader, max_batches, checkpoint_interval).run(
            batch_processor_cls
        )


class _BatchProcess:
    """Rounds, in each of which every rank processes a batch; some ranks none in the last."""

    def __init__(
        self,
        core_context: core.Context,
        loader: DataLoader,
        max_batches: Optional[int],
        checkpoint_interval: int,
    ) -> None:
        self._core = core_context
        self._dist = core_context.distributed
        self._loader = loader
        self._interval = checkpoint_interval
        self._rounds = -(-len(loader) // self._dist.size)
        if max_batches is not None:
            self._rounds = min(self._rounds, max_batches)
        self._settings = _progress.settings_of(core_context, loader)

    def run(self, processor_class: Type[TorchBatchProcessor]) -> None:
        """Process the batches that are left, then report the metrics of reducers."""
        context = TorchBatchProcessorContext(self._core, self._storage_path())
        done, context._earlier_values = _progress.load(self._core, self._settings)
        processor = processor_class(context)
        batches = iter(
            self._loader.get_data_loader(
                skip=done, num_replicas=self._dist.size, rank=self._dist.rank
            )
        )
        while done < self._rounds:
            batch = next(batches, _NO_BATCH)
            if batch is not _NO_BATCH:
                processor.process_batch(batch, done)
            done += 1
            is_due = done == self._rounds or done % self._interval == 0
            is_preempted = self._is_preempted(done, is_due)
            if is_due or is_preempted:
                agree(self._dist, processor.on_checkpoint_start)
                _progress.save(self._core, done, self._settings, context._collected(None))
                self._report_progress(done)
            if is_preempted and done < self._rounds:
                logger.info("preempted after batch %d of %d of this rank", done, self._rounds)
                return
        metrics = context.reduce_metrics(for_training=None)
        if metrics:
            self._core.train.report_validation_metrics(done, metrics)
        processor.on_finish()

    def _storage_path(self) -> str:
        """The directory of results: the same in each run of a trial."""
        info = self._core.info
        name = new_uuid() if info is None else info.task_id
        path: str = self._dist.broadcast(f"batch-output-{name}")
        logger.info("results are stored in the directory %s of the checkpoint storage", path)
        return path

    def _is_preempted(self, done: int, is_due: bool) -> bool:
        if self._dist.size > 1 and not is_due and done % SYNC_EVERY:
            return False
        return self._core.preempt.should_preempt()

    def _report_progress(self, done: int) -> None:
        if self._dist.rank == 0:
            self._core.train._try_report_progress(done / self._rounds)


def _loader_of(
    dataset: torch.utils.data.Dataset, batch_size: Optional[int], arguments: Dict[str, Any]
) -> DataLoader:
    """The data loader; its order is that of the data set, in which a run is continued."""
    for name in _ORDERING:
        if arguments.pop(name, None):
            raise ValueError(
                f"dataloader_kwargs cannot have {name}: ranks share the batches, and a run "
                "continues, in the order of the data set"
            )
    if isinstance(dataset, torch.utils.data.IterableDataset) or not hasattr(dataset, "__len__"):
        raise TypeError(
            f"a data set of type {type(dataset).__name__} cannot be shared among ranks or "
            "continued: it needs __len__ and __getitem__"
        )
    other = arguments.pop("batch_size", None)
    if None not in (batch_size, other) and batch_size != other:
        raise ValueError(f"batch_size is {batch_size}, and {other} in dataloader_kwargs")
    size = other if batch_size is None else batch_size
    return DataLoader(dataset, 1 if size is None else size, **arguments)
