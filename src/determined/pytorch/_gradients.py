"""Backward passes, gradient aggregation and optimizer steps."""

from __future__ import annotations

from typing import Any, Callable, Iterator, List, Optional

from determined.pytorch._torch import torch


class GradientContext:
    """The part of a trial's context for backward passes and optimizer steps.

    Gradients are aggregated over `aggregation_frequency` batches before each step. Ranks exchange
    them once per step.
    """

    _current_batch: Optional[int]

    def __init__(self, aggregation_frequency: int, is_averaged: bool) -> None:
        if aggregation_frequency < 1:
            raise ValueError(
                f"aggregation_frequency must be at least 1, got {aggregation_frequency}"
            )
        self._aggregation_frequency = aggregation_frequency
        self._average_aggregated_gradients = is_averaged
        self._scaler: Any = None

    def backward(
        self,
        loss: torch.Tensor,
        gradient: Optional[torch.Tensor] = None,
        retain_graph: bool = False,
        create_graph: bool = False,
    ) -> None:
        """Compute the gradients of a loss; arguments as `torch.Tensor.backward`.

        With `experimental.use_amp` the loss is scaled first.
        """
        if self._is_amp() and self._scaler is not None:
            loss = self._scaler.scale(loss)
        loss.backward(gradient=gradient, retain_graph=retain_graph, create_graph=create_graph)

    def step_optimizer(
        self,
        optimizer: torch.optim.Optimizer,
        clip_grads: Optional[Callable[[Iterator[Any]], None]] = None,
        auto_zero_grads: bool = True,
        scaler: Optional[Any] = None,
    ) -> None:
        """Step an optimizer if this batch is the last of an aggregation.

        Args:
            optimizer: an optimizer returned by `wrap_optimizer`.
            clip_grads: called with the optimizer's parameters before the step, to clip their
                gradients in place.
            auto_zero_grads: reset the gradients after the step.
            scaler: the scaler passed to `wrap_scaler`, if the trial scales losses itself. The
                trial must then call its `update()`.
        """
        if not self._ends_aggregation():
            return
        scaler = scaler or (self._scaler if self._is_amp() else None)
        parameters = _parameters_of(optimizer)
        if self._aggregation_frequency > 1 and self._average_aggregated_gradients:
            for parameter in parameters:
                if parameter.grad is not None:
                    parameter.grad.div_(self._aggregation_frequency)
        if clip_grads is not None:
            if scaler is not None:
                scaler.unscale_(optimizer)
            clip_grads(iter(parameters))
        if scaler is not None:
            scaler.step(optimizer)
        else:
            optimizer.step()
        if auto_zero_grads:
            optimizer.zero_grad()

    def _ends_aggregation(self) -> bool:
        """Whether the current batch is the last of an aggregation."""
        batch = self._current_batch or 0
        return (batch + 1) % self._aggregation_frequency == 0

    def _is_amp(self) -> bool:
        return False


def _parameters_of(optimizer: torch.optim.Optimizer) -> List[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
