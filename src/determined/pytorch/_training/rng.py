"""Seeds and states of the random generators of Python, NumPy and PyTorch."""

from __future__ import annotations

import contextlib
import random
import sys
from typing import Any, Dict, Iterator

from determined.pytorch._torch import torch


def seed_all(seed: int) -> None:
    """Seed Python, NumPy if it is loaded, and PyTorch on all devices."""
    random.seed(seed)
    numpy = _numpy()
    if numpy is not None:
        numpy.random.seed(seed % 2**32)
    torch.manual_seed(seed)


def get_state() -> Dict[str, Any]:
    """The states of all generators, as plain values and tensors."""
    version, words, gauss = random.getstate()
    state: Dict[str, Any] = {
        "random_rng_state": [version, list(words), gauss],
        "cpu_rng_state": torch.random.get_rng_state(),
    }
    if torch.cuda.is_available():
        state["gpu_rng_state"] = torch.cuda.get_rng_state()
    numpy = _numpy()
    if numpy is not None:
        name, words, place, has_gauss, cached = numpy.random.get_state()
        state["np_rng_state"] = [name, words.tolist(), int(place), int(has_gauss), float(cached)]
    return state


def set_state(state: Dict[str, Any]) -> None:
    """Restore states from `get_state`; a missing state is left unchanged."""
    if "random_rng_state" in state:
        version, words, gauss = state["random_rng_state"]
        random.setstate((version, tuple(words), gauss))
    if "cpu_rng_state" in state:
        torch.random.set_rng_state(state["cpu_rng_state"].cpu())
    if "gpu_rng_state" in state and torch.cuda.is_available():
        torch.cuda.set_rng_state(state["gpu_rng_state"].cpu())
    numpy = _numpy()
    if numpy is not None and "np_rng_state" in state:
        name, words, place, has_gauss, cached = state["np_rng_state"]
        words = numpy.array(words, dtype=numpy.uint32)
        numpy.random.set_state((name, words, place, has_gauss, cached))


@contextlib.contextmanager
def preserved() -> Iterator[None]:
    """Restore the states when the block ends, so that the block does not affect training."""
    state = get_state()
    try:
        yield
    finally:
        set_state(state)


def _numpy() -> Any:
    """NumPy if it is loaded; importing it would slow down code that does not use it."""
    return sys.modules.get("numpy")
