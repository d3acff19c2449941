"""Batches of data: their length, and moving them to a device."""

from __future__ import annotations

import logging
from typing import Any, Dict, List, Optional, Set, Tuple, Type, Union

from determined.pytorch._torch import torch

logger = logging.getLogger("determined.pytorch")

TorchData = Union[Dict[str, Any], List[Any], Tuple[Any, ...], Any]
"""A tensor, or a dict, list or tuple of tensors."""

_LEFT_ALONE = (str, bytes, int, float, bool, type(None))


def data_length(data: Any) -> int:
    """The number of records of a batch: the first dimension of its tensors.

    Raises:
        ValueError: the parts of the batch differ in length.
        TypeError: the type of the batch has no known length.
    """
    if isinstance(data, torch.Tensor) or hasattr(data, "shape"):
        return int(data.shape[0])
    if isinstance(data, dict) and data:
        return _common_length({str(name): part for name, part in data.items()})
    if isinstance(data, (list, tuple)) and data:
        if all(hasattr(part, "shape") or isinstance(part, (dict, list, tuple)) for part in data):
            return _common_length({f"[{at}]": part for at, part in enumerate(data)})
        return len(data)
    raise TypeError(
        f"a batch of type {type(data).__name__} has no known length: define "
        "get_batch_length(batch) in the trial"
    )


def to_device(
    data: Any, device: torch.device, warned_types: Optional[Set[Type[Any]]] = None
) -> Any:
    """Move all tensors of a batch to a device; other values stay as they are.

    Args:
        warned_types: types already warned about; this adds to it.
    """
    if isinstance(data, torch.Tensor):
        return data.to(device, non_blocking=True)
    if isinstance(data, dict):
        return {name: to_device(part, device, warned_types) for name, part in data.items()}
    if isinstance(data, tuple) and hasattr(data, "_fields"):
        return type(data)(*(to_device(part, device, warned_types) for part in data))
    if isinstance(data, (list, tuple)):
        return type(data)(to_device(part, device, warned_types) for part in data)
    if hasattr(data, "to"):
        return data.to(device)
    kind = type(data)
    if warned_types is not None and kind not in warned_types and kind not in _LEFT_ALONE:
        warned_types.add(kind)
        logger.warning(
            "data of type %s.%s is not moved to %s", kind.__module__, kind.__qualname__, device
        )
    return data


def device_of(num_gpus: int, local_rank: int) -> torch.device:
    """The device of a rank: its GPU, which becomes the current one, or the CPU without GPUs."""
    if num_gpus == 0:
        return torch.device("cpu")
    device = torch.device("cuda", local_rank % max(1, torch.cuda.device_count()))
    torch.cuda.set_device(device)
    return device


def _common_length(parts: Dict[str, Any]) -> int:
    lengths = {name: data_length(part) for name, part in parts.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"the parts of a batch differ in length: {lengths}")
    return next(iter(lengths.values()))
