"""Data loaders that are sharded by rank and resumable."""

from __future__ import annotations

from typing import Any, Callable, Optional

from determined.pytorch import samplers
from determined.pytorch._torch import torch


class DataLoader:
    """The arguments of a `torch.utils.data.DataLoader`, which the trainer creates per rank.

    Each rank reads its share of the data, shuffles are the same in every run of a trial, and a
    resumed trial continues with the next batch. With `num_workers`, the random states of the
    workers are not restored when a trial resumes.

    Takes the arguments of torch's class. `shuffle` cannot be combined with `sampler` or
    `batch_sampler`, nor `batch_sampler` with `batch_size`, `sampler` or `drop_last`.

    Raises:
        ValueError: arguments conflict, or the dataset is an IterableDataset, which cannot be
            sampled.
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
                "an IterableDataset cannot be shared among ranks or resumed: use a map-style "
                "dataset, or return a torch DataLoader after "
                "context.experimental.disable_dataset_reproducibility_checks()"
            )
        self._seed: Optional[int] = None
        """The seed of shuffles; the trainer sets it to that of the trial."""
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
            repeat: repeat the data indefinitely.
            skip: the number of this rank's batches to skip at the start.
            num_replicas: the number of ranks that share the data.
            rank: the rank.
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
        """Iterate over all data once."""
        return iter(self.get_data_loader())

    def __len__(self) -> int:
        """The number of batches of all data."""
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
                    "batch_sampler cannot be combined with batch_size, shuffle, sampler or "
                    "drop_last"
                )
        elif self.batch_size is None or self.batch_size < 1:
            raise ValueError(f"batch_size must be at least 1, got {self.batch_size}")
        if self.sampler is not None and self._shuffle:
            raise ValueError("sampler cannot be combined with shuffle")
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

    The sampler is first repeated, so that all ranks get the same number of batches, then divided
    among the ranks. `skip` counts batches of the rank.
    """
    adapted = batch_sampler
    if repeat:
        adapted = samplers.RepeatBatchSampler(adapted)
    if num_replicas > 1:
        adapted = samplers.DistributedBatchSampler(adapted, num_replicas, rank)
    if skip > 0:
        adapted = samplers.SkipBatchSampler(adapted, skip)
    return adapted
