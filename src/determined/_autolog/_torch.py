"""Recording of plain PyTorch: its optimizers, and the scalars that a loop writes for TensorBoard.

The loss is a variable of the script, which PyTorch has no callback for.
"""

from __future__ import annotations

import sys
import weakref
from typing import Any

from determined._autolog import _session
from determined._autolog._hooks import replace

FRAMEWORK = "torch"
_OPTIMIZERS: Any = weakref.WeakSet()
"""Those that are recorded."""


def install(imported: str) -> None:
    """Record the optimizers, or the writers of TensorBoard's files."""
    module: Any = sys.modules[imported]
    if imported == "torch.optim.optimizer":
        module.register_optimizer_step_post_hook(_after_step)
    else:
        replace(module.SummaryWriter, "add_scalar", _add_scalar)
        replace(module.SummaryWriter, "add_scalars", _add_scalars)


def _after_step(optimizer: Any, *_arguments: Any) -> None:
    session = _session.current()
    if optimizer in _OPTIMIZERS or session is None:
        return
    _OPTIMIZERS.add(optimizer)
    with session.run(FRAMEWORK, type(optimizer).__name__, lambda: optimizer.defaults):
        pass


def _add_scalar(
    original: Any, writer: Any, tag: Any, scalar_value: Any, *args: Any, **kwargs: Any
) -> Any:
    _report({tag: scalar_value}, *args, **kwargs)
    return original(writer, tag, scalar_value, *args, **kwargs)


def _add_scalars(
    original: Any, writer: Any, main_tag: Any, tag_scalar_dict: Any, *args: Any, **kwargs: Any
) -> Any:
    values = {f"{main_tag}/{tag}": value for tag, value in tag_scalar_dict.items()}
    _report(values, *args, **kwargs)
    return original(writer, main_tag, tag_scalar_dict, *args, **kwargs)


def _report(values: Any, global_step: Any = None, *_args: Any, **_kwargs: Any) -> None:
    session = _session.current()
    if session is None:
        return
    with session.run(FRAMEWORK, FRAMEWORK) as run:
        if run is not None:
            run.report_at(global_step, lambda: values)
