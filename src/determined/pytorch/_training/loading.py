"""The data of a training: the batches of one rank."""

from __future__ import annotations

import itertools
import logging
from typing import Any, Iterator, NamedTuple, Optional

from determined.pytorch._data import DataLoader

logger = logging.getLogger("determined.pytorch")


class Share(NamedTuple):
    """The part of the data that a rank has."""

    replicas: int
    """The number of parts."""
    rank: int
    """Which of them, from 0."""


def checked(loader: Any, name: str, seed: int, remedy: str) -> Any:
    """A data loader of the trial, with the trial's seed.

    Args:
        loader: what the trial built.
        name: "training" or "validation", for the error.
        seed: the seed of its shuffles.
        remedy: the call that allows other classes; empty after that call.

    Raises:
        TypeError: it is not a determined.pytorch.DataLoader, and the trial did not allow that.
    """
    if isinstance(loader, DataLoader):
        loader._seed = seed
    elif remedy:
        raise TypeError(
            f"build_{name}_data_loader must return a determined.pytorch.DataLoader, got "
            f"{type(loader).__module__}.{type(loader).__qualname__}; to use another class, "
            f"first call {remedy}"
        )
    return loader


def share_of(loader: Any, share: Share) -> Any:
    """The loader of a rank's part; another class than ours is divided by the trial itself."""
    if isinstance(loader, DataLoader):
        return loader.get_data_loader(num_replicas=share.replicas, rank=share.rank)
    return loader


def endless(loader: Any, share: Share, skip: int) -> Optional[Iterator[Any]]:
    """The batches of a rank, epoch after epoch, from batch `skip` on; None without a loader."""
    if loader is None:
        return None
    if isinstance(loader, DataLoader):
        batches: Iterator[Any] = iter(loader.get_data_loader(True, skip, *share))
        return batches
    if skip:
        logger.warning("the data loader cannot resume; it starts at its first batch")
    return itertools.chain.from_iterable(itertools.repeat(loader))
