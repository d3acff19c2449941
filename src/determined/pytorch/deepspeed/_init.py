"""Creation of a DeepSpeed trial's context, on and off the cluster."""

from __future__ import annotations

import atexit
import contextlib
import os
import socket
from typing import Any, Dict, Iterator, Optional

from determined import core
from determined.pytorch._init import close_writer, core_of, trial_of
from determined.pytorch._torch import torch
from determined.pytorch.deepspeed._context import DeepSpeedTrialContext
from determined.pytorch.deepspeed._deepspeed import deepspeed

_OF_DEEPSPEED = ("LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    enable_tensorboard_logging: bool = True,
) -> Iterator[DeepSpeedTrialContext]:
    """A context for this process: its trial's on a cluster, one for local training elsewhere.

    It initializes `deepspeed.comm` for the ranks that `determined.launch.deepspeed` or
    `determined.launch.torch_distributed` started, and for one rank without a launcher. It seeds
    the generators of Python, NumPy and PyTorch with the trial's seed.

    Args:
        hparams: hyperparameters for local training; ignored on a cluster.
        exp_conf: a configuration for local training; ignored on a cluster.
        distributed: the trial's ranks, if another launcher started them.
        enable_tensorboard_logging: whether to write reported metrics for TensorBoard.

    Raises:
        ValueError: the trial has several slots, and the ranks are not known.
    """
    trial = trial_of(hparams, exp_conf)
    with contextlib.ExitStack() as stack:
        if distributed is None:
            distributed = _ranks()
        _join(trial.num_gpus)
        core_context = core_of(stack, trial, distributed, enable_tensorboard_logging)
        context = DeepSpeedTrialContext(
            core_context=core_context,
            trial_seed=trial.seed,
            hparams=trial.hparams,
            slots_per_trial=core_context.distributed.size,
            num_gpus=trial.num_gpus,
            exp_conf=trial.exp_conf,
            steps_completed=trial.steps_completed,
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
        stack.callback(close_writer, context)
        yield context


def _ranks() -> Optional[core.DistributedContext]:
    """The ranks that a launcher started; None without one."""
    if "RANK" not in os.environ or "WORLD_SIZE" not in os.environ:
        return None
    chief = os.environ.get("DET_CHIEF_IP") or os.environ.get("MASTER_ADDR")
    if all(name in os.environ for name in _OF_DEEPSPEED):
        return core.DistributedContext.from_deepspeed(chief_ip=chief)
    os.environ.setdefault("GROUP_RANK", "0")
    os.environ.setdefault("GROUP_WORLD_SIZE", "1")
    return core.DistributedContext.from_torch_distributed(chief_ip=chief)


def _join(num_gpus: int) -> None:
    """Join the process group until the process ends; without a launcher it has this rank alone.

    DeepSpeed keeps groups for the rest of the process, so that a later call joins the same one.
    """
    if num_gpus > 0:
        local_rank = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(local_rank % torch.cuda.device_count())
    if not torch.distributed.is_initialized():
        atexit.register(_leave)
        if "RANK" not in os.environ:
            os.environ.update({"RANK": "0", "LOCAL_RANK": "0", "CROSS_RANK": "0"})
            os.environ.update({"WORLD_SIZE": "1", "LOCAL_SIZE": "1", "CROSS_SIZE": "1"})
            with socket.create_server(("127.0.0.1", 0)) as free:
                os.environ.setdefault("MASTER_PORT", str(free.getsockname()[1]))
            os.environ.setdefault("MASTER_ADDR", "127.0.0.1")
    deepspeed.init_distributed(auto_mpi_discovery=False)


def _leave() -> None:
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
