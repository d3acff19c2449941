"""Conversion of tensors to values that ranks can send and that can be reported."""

from __future__ import annotations

import io
from typing import Any, Dict, List

from determined.pytorch._torch import torch

_TENSOR = "\0tensor"


def packed(value: Any) -> Any:
    """A value with its tensors as bytes, which ranks can send."""
    if isinstance(value, torch.Tensor):
        raw = io.BytesIO()
        torch.save(value.detach().cpu().clone(), raw)
        return {_TENSOR: raw.getvalue()}
    if isinstance(value, dict):
        return {key: packed(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([packed(part) for part in value])
    return value


def unpacked(value: Any) -> Any:
    """Undo `packed`, with tensors on the CPU. Only tensors are unpickled."""
    if isinstance(value, dict):
        if set(value) == {_TENSOR}:
            return torch.load(io.BytesIO(value[_TENSOR]), weights_only=True)
        return {key: unpacked(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)([unpacked(part) for part in value])
    return value


def as_float64(name: str, value: Any) -> torch.Tensor:
    """A metric's value as a tensor.

    Raises:
        TypeError: it is not a number or an array of numbers.
    """
    try:
        return torch.as_tensor(value).detach().to("cpu", torch.float64)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(
            f"metric {name!r} is of type {type(value).__name__}, which cannot be reduced: use "
            "numbers or tensors, or context.wrap_reducer"
        ) from error


def reduced(values: List[torch.Tensor], how: str) -> torch.Tensor:
    """The element-wise sum, max or min of tensors of one shape."""
    stacked = torch.stack(values)
    return {"sum": stacked.sum, "max": stacked.amax, "min": stacked.amin}[how](dim=0)


def mean(parts: List[Dict[str, float]]) -> Dict[str, float]:
    """The mean of each metric over the ranks that report it."""
    names = dict.fromkeys(name for part in parts for name in part)
    found = {name: [part[name] for part in parts if name in part] for name in names}
    return {name: sum(values) / len(values) for name, values in found.items()}


def mean_of_micro_batches(outputs: List[Dict[str, Any]]) -> Dict[str, Any]:
    """The mean of each metric over the micro batches of a batch; of a text, the last."""
    if len(outputs) < 2:
        return outputs[0] if outputs else {}
    names = dict.fromkeys(name for output in outputs for name in output)
    return {name: _mean_of([one[name] for one in outputs if name in one]) for name in names}


def _mean_of(values: List[Any]) -> Any:
    try:
        return sum(values[1:], values[0]) / len(values)
    except TypeError:
        return values[-1]


def plain(value: Any) -> Any:
    """A value with tensors as numbers or lists of numbers."""
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().tolist()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    return value


def detached(metrics: Dict[str, Any]) -> Dict[str, Any]:
    """Metrics detached from the autograd graph; they stay on their device."""
    return {
        name: value.detach().clone() if isinstance(value, torch.Tensor) else value
        for name, value in metrics.items()
    }
