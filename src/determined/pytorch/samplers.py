"""Samplers that repeat, skip, distribute and shuffle.

The batch samplers wrap a batch sampler, the others a sampler of records. Combined as in
`adapt_batch_sampler`, they return the same batches for a rank in every run, from any batch on.
"""

from __future__ import annotations

import itertools
from typing import Any, Iterator

from determined.pytorch._torch import torch


class RepeatSampler(torch.utils.data.Sampler):
    """Repeats a sampler indefinitely; its length is that of one pass."""

    def __init__(self, sampler: torch.utils.data.Sampler) -> None:
        self._sampler = sampler

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return _repeat(self._sampler)


class RepeatBatchSampler(torch.utils.data.BatchSampler):
    """Repeats a batch sampler indefinitely.

    Its length is that of one pass. A batch never contains records of two passes.
    """

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler) -> None:
        self.batch_sampler = batch_sampler

    def __len__(self) -> int:
        return len(self.batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return _repeat(self.batch_sampler)


class DistributedSampler(torch.utils.data.Sampler):
    """Every `num_workers`-th record of a sampler, starting at index `rank`."""

    def __init__(self, sampler: torch.utils.data.Sampler, num_workers: int, rank: int) -> None:
        _check_rank(num_workers, rank)
        self._sampler = sampler
        self._num_workers = num_workers
        self._rank = rank

    def __len__(self) -> int:
        return _share(len(self._sampler), self._num_workers, self._rank)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self._sampler, self._rank, None, self._num_workers)


class DistributedBatchSampler(torch.utils.data.BatchSampler):
    """Every `num_workers`-th batch of a batch sampler, starting at index `rank`.

    All ranks together get the batches of the sampler in its order.
    """

    def __init__(
        self, batch_sampler: torch.utils.data.BatchSampler, num_workers: int, rank: int
    ) -> None:
        _check_rank(num_workers, rank)
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.rank = rank

    def __len__(self) -> int:
        return _share(len(self.batch_sampler), self.num_workers, self.rank)

    def __iter__(self) -> Iterator[Any]:
        return itertools.islice(self.batch_sampler, self.rank, None, self.num_workers)


class SkipSampler(torch.utils.data.Sampler):
    """A sampler without its first `skip` records, in its first pass only."""

    def __init__(self, sampler: torch.utils.data.Sampler, skip: int) -> None:
        self._sampler = sampler
        self._skip = skip

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        skip, self._skip = self._skip, 0
        return itertools.islice(self._sampler, skip, None)


class SkipBatchSampler(torch.utils.data.BatchSampler):
    """A batch sampler without its first `skip` batches, in its first pass only.

    Only indices are skipped; no record is read. Its length is that of a full pass.
    """

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler, skip: int) -> None:
        self.batch_sampler = batch_sampler
        self.skip = skip
        self.length = len(batch_sampler)

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        skip, self.skip = self.skip, 0
        return itertools.islice(self.batch_sampler, skip, None)


class ReproducibleShuffleSampler(torch.utils.data.Sampler):
    """The records of a sampler in a new order each pass; the orders depend on the seed only."""

    def __init__(self, sampler: torch.utils.data.Sampler, seed: int) -> None:
        self._sampler = sampler
        self._shuffles = _Shuffles(seed)

    def __len__(self) -> int:
        return len(self._sampler)

    def __iter__(self) -> Iterator[Any]:
        return self._shuffles.of(self._sampler)


class ReproducibleShuffleBatchSampler(torch.utils.data.Sampler):
    """The batches of a batch sampler in a new order each pass; batches stay unchanged."""

    def __init__(self, batch_sampler: torch.utils.data.BatchSampler, seed: int) -> None:
        self._batch_sampler = batch_sampler
        self._shuffles = _Shuffles(seed)

    def __len__(self) -> int:
        return len(self._batch_sampler)

    def __iter__(self) -> Iterator[Any]:
        return self._shuffles.of(self._batch_sampler)


class _Shuffles:
    """Random orders from a separate generator, independent of other random draws."""

    def __init__(self, seed: int) -> None:
        self._generator = torch.Generator()
        self._generator.manual_seed(seed)

    def of(self, items: Any) -> Iterator[Any]:
        listed = list(items)
        order = torch.randperm(len(listed), generator=self._generator)
        return (listed[place] for place in order.tolist())


def _repeat(items: Any) -> Iterator[Any]:
    while True:
        is_empty = True
        for item in items:
            is_empty = False
            yield item
        if is_empty:
            raise ValueError(
                "there is no training data: the sampler returned nothing in a full pass"
            )


def _share(total: int, workers: int, rank: int) -> int:
    return (total - rank + workers - 1) // workers


def _check_rank(workers: int, rank: int) -> None:
    if not 0 <= rank < workers:
        raise ValueError(f"rank {rank} must be from 0 to {workers - 1}")
