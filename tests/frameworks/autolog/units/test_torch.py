"""Loops of plain PyTorch are recorded as far as it has callbacks."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest
import torch

from determined._autolog import _torch


def step_of(optimizer: Any) -> None:
    for group in optimizer.param_groups:
        for weight in group["params"]:
            weight.grad = torch.ones_like(weight)
    optimizer.step()


def test_the_first_step_records_the_optimizer(trial: Any) -> None:
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.25, momentum=0.5)
    assert trial.params == {}
    step_of(optimizer)
    trial.metadata.clear()
    step_of(optimizer)
    assert trial.metadata == {}, "once for each optimizer"


def test_the_parameters_are_those_of_the_optimizer(trial: Any) -> None:
    step_of(torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], lr=0.25, momentum=0.5))
    assert trial.params["SGD"]["lr"] == 0.25
    assert trial.params["SGD"]["momentum"] == 0.5


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A double of TensorBoard's writer, whose package is not a part of this environment."""

    class SummaryWriter:
        def __init__(self) -> None:
            self.calls: list[Any] = []

        def add_scalar(self, tag: str, scalar_value: Any, global_step: Any = None) -> None:
            self.calls.append((tag, scalar_value, global_step))

        def add_scalars(
            self, main_tag: str, tag_scalar_dict: Any, global_step: Any = None
        ) -> None:
            self.calls.append((main_tag, tag_scalar_dict, global_step))

    name = "torch.utils.tensorboard.writer"
    module = types.SimpleNamespace(SummaryWriter=SummaryWriter)
    monkeypatch.setitem(sys.modules, name, module)  # type: ignore[arg-type]
    _torch.install(name)
    return SummaryWriter()


def test_scalars_for_tensorboard_are_metrics(trial: Any, writer: Any) -> None:
    for step in (1, 2):
        writer.add_scalar("loss", torch.tensor(0.5 / step), step)
        writer.add_scalar("val/loss", 0.25, global_step=step)
    writer.add_scalars("norms", {"a": 1.0, "b": 2.0}, 2)
    assert trial.reports["training", 1] == {"loss": 0.5}
    assert trial.reports["validation", 2] == {"val/loss": 0.25}
    assert trial.reports["training", 2] == {"loss": 0.25, "norms/a": 1.0, "norms/b": 2.0}
    assert len(writer.calls) == 5
