"""Data loaders that are made when it is known where a rank stands in its data."""

from __future__ import annotations

from typing import Any, Callable, Optional

from determined.pytorch import samplers
from determined.pytorch._torch import torch


class DataLoader:
    """Arguments of a `torch.utils.data.DataLoader`, which the trainer makes with own samplers.

    So every rank reads its share, shuffles are the same in every run of a trial, and a trial that
    resumes goes on with the batch after its last. With `num_workers`, what the workers
    draw at random while they read is not repeated by a run that resumes.

    Args: as torch's. `shuffle` and an own `sampler` or `batch_sampler` exclude each other, as do
        `batch_sampler` and `batch_size`, `shuffle`, `sampler`, `drop_last`.

    Raises:
        ValueError: arguments contradict each other, or the dataset is an IterableDataset, which
            cannot be sampled.
    """

    def __init__(
        self,
        dataset: torch.utils.data.Dataset,
        batch_size: Optional[int] = 1,
        shuffle: bool = False,
        sampler: Optional[torch.utils.data.Sampler] = None,
        batch_sampler: Optional[torch.utils.data.BatchSampler] = None,
        num_workers: int = 0,
        collate_fn: Optional[Callable[[Any], Any]] = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Optional[Callable[[int], None]] = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: Optional[int] = None,
        persistent_workers: bool = False,
    ) -> None:
        if isinstance(dataset, torch.utils.data.IterableDataset):
            raise ValueError(
                "an IterableDataset cannot be shared among ranks or resumed: give a dataset that "
                "is read by index, or return a torch DataLoader after "
                "context.experimental.disable_dataset_reproducibility_checks()"
            )
        self._seed: Optional[int] = None
        """Of shuffles; the trainer sets it to the trial's."""
        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = prefetch_factor
        self.pin_memory = pin_memory
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.generator = generator
        self.collate_fn = collate_fn
        self.persistent_workers = persistent_workers
        self._shuffle = shuffle
        self._check()

    def get_data_loader(
        self, repeat: bool = False, skip: int = 0, num_replicas: int = 1, rank: int = 0
    ) -> torch.utils.data.DataLoader:
        """Torch's loader for one rank.

        Args:
            repeat: go through the data without end.
            skip: batches of this rank that are left out at the start.
            num_replicas: the number of ranks that share the data.
            rank: this one.
        """
        given = {} if self.prefetch_factor is None else {"prefetch_factor": self.prefetch_factor}
        return torch.utils.data.DataLoader(
            self.dataset,
            batch_sampler=adapt_batch_sampler(
                self._own_batch_sampler(), repeat, skip, num_replicas, rank
            ),
            num_workers=self.num_workers,
            collate_fn=self.collate_fn,
            pin_memory=self.pin_memory,
            timeout=self.timeout,
            worker_init_fn=self.worker_init_fn,
            multiprocessing_context=self.multiprocessing_context,
            generator=self.generator,
            persistent_workers=self.persistent_workers,
            **given,
        )

    def __iter__(self) -> Any:
        """One pass through all of the data."""
        return iter(self.get_data_loader())

    def __len__(self) -> int:
        """Batches of one pass through all of the data."""
        return len(self._own_batch_sampler())

    def _own_batch_sampler(self) -> Any:
        if self.batch_sampler is not None:
            return self.batch_sampler
        sampler = self.sampler
        if sampler is None:
            sampler = torch.utils.data.SequentialSampler(self.dataset)
            if self._shuffle:
                sampler = samplers.ReproducibleShuffleSampler(sampler, self._seed or 0)
        return torch.utils.data.BatchSampler(sampler, int(self.batch_size or 1), self.drop_last)

    def _check(self) -> None:
        if self.batch_sampler is not None:
            usual = self.batch_size in (None, 1) and not self._shuffle and not self.drop_last
            if not usual or self.sampler is not None:
                raise ValueError(
                    "batch_sampler excludes batch_size, shuffle, sampler and drop_last"
                )
        elif self.batch_size is None or self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")
        if self.sampler is not None and self._shuffle:
            raise ValueError("sampler excludes shuffle")
        if self.num_workers == 0 and self.prefetch_factor is not None:
            raise ValueError("prefetch_factor needs num_workers of at least 1")


def adapt_batch_sampler(
    batch_sampler: torch.utils.data.BatchSampler,
    repeat: bool = False,
    skip: int = 0,
    num_replicas: int = 1,
    rank: int = 0,
) -> torch.utils.data.BatchSampler:
    """A batch sampler for one rank; arguments as `DataLoader.get_data_loader`.

    It repeats before it shares, so that all ranks have as many batches, and skips last: `skip`
    counts the batches of the rank.
    """
    adapted = batch_sampler
    if repeat:
        adapted = samplers.RepeatBatchSampler(adapted)
    if num_replicas > 1:
        adapted = samplers.DistributedBatchSampler(adapted, num_replicas, rank)
    if skip > 0:
        adapted = samplers.SkipBatchSampler(adapted, skip)
    return adapted
