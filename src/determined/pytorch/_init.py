"""Creation of a PyTorch trial's context, on and off the cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Any, Dict, Iterator, NamedTuple, Optional

from determined import core
from determined._info import ClusterInfo, get_cluster_info
from determined.pytorch._base_context import BaseTrialContext
from determined.pytorch._context import PyTorchTrialContext
from determined.pytorch._torch import torch
from determined.pytorch._training import rng

logger = logging.getLogger("determined.pytorch")

_RANK_VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE")


@contextlib.contextmanager
def init(
    *,
    hparams: Optional[Dict[str, Any]] = None,
    exp_conf: Optional[Dict[str, Any]] = None,
    distributed: Optional[core.DistributedContext] = None,
    aggregation_frequency: int = 1,
    enable_tensorboard_logging: bool = True,
) -> Iterator[PyTorchTrialContext]:
    """A context for this process: its trial's on a cluster, one for local training elsewhere.

    Under torch's launcher it initializes the process group (NCCL with GPUs, else gloo). It seeds
    the generators of Python, NumPy and PyTorch with the trial's seed.

    Args:
        hparams: hyperparameters for local training; ignored on a cluster.
        exp_conf: a configuration for local training; ignored on a cluster.
        distributed: the trial's ranks, if another launcher started them.
        aggregation_frequency: the number of batches to aggregate gradients over.
        enable_tensorboard_logging: whether to write reported metrics for TensorBoard.

    Raises:
        ValueError: the trial has several slots, and the ranks are not known.
        RuntimeError: the ranks were started by Horovod.
    """
    trial = trial_of(hparams, exp_conf)
    with contextlib.ExitStack() as stack:
        if distributed is None:
            distributed = join_ranks(stack, trial.num_gpus)
        core_context = core_of(stack, trial, distributed, enable_tensorboard_logging)
        context = PyTorchTrialContext(
            core_context=core_context,
            trial_seed=trial.seed,
            hparams=trial.hparams,
            slots_per_trial=core_context.distributed.size,
            num_gpus=trial.num_gpus,
            exp_conf=trial.exp_conf,
            aggregation_frequency=aggregation_frequency,
            steps_completed=trial.steps_completed,
            managed_training=trial.info is not None,
            debug_enabled=bool(trial.info and trial.info.trial._debug),
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
        stack.callback(close_writer, context)
        yield context


class TrialSettings(NamedTuple):
    """The settings of a trial, on and off the cluster."""

    info: Optional[ClusterInfo]
    """None off the cluster."""
    hparams: Optional[Dict[str, Any]]
    exp_conf: Optional[Dict[str, Any]]
    num_gpus: int
    seed: int

    @property
    def steps_completed(self) -> int:
        """Batches of the checkpoint that the trial resumes from; else 0."""
        return self.info.trial._steps_completed if self.info else 0


def trial_of(
    hparams: Optional[Dict[str, Any]], exp_conf: Optional[Dict[str, Any]]
) -> TrialSettings:
    """This task's trial on a cluster; elsewhere one of the arguments."""
    info = get_cluster_info()
    if info is None or info.task_type != "TRIAL":
        return TrialSettings(None, hparams, exp_conf, gpus_of(None), _seed(exp_conf))
    for name, value in (("hparams", hparams), ("exp_conf", exp_conf)):
        if value is not None:
            logger.warning("the argument %s is ignored on a cluster", name)
    trial = info.trial
    return TrialSettings(info, trial.hparams, trial._config, gpus_of(info), trial.trial_seed)


def core_of(
    stack: contextlib.ExitStack,
    trial: TrialSettings,
    distributed: Optional[core.DistributedContext],
    enable_tensorboard_logging: bool,
) -> core.Context:
    """The Core API's context for as long as `stack` is open, with seeded generators."""
    mode = core.TensorboardMode.AUTO if enable_tensorboard_logging else core.TensorboardMode.MANUAL
    context = stack.enter_context(core.init(distributed=distributed, tensorboard_mode=mode))
    rng.seed_all(trial.seed)
    return context


def close_writer(context: BaseTrialContext) -> None:
    """Close the TensorBoard writer of a context, if it made one."""
    if context._tbd_writer is not None:
        context._tbd_writer.close()


def gpus_of(info: Optional[ClusterInfo]) -> int:
    """The number of GPUs: on a cluster those of this container's slots, else all."""
    if not torch.cuda.is_available():
        return 0
    return len(info.gpu_uuids) if info is not None else int(torch.cuda.device_count())


def _seed(exp_conf: Optional[Dict[str, Any]]) -> int:
    return int(((exp_conf or {}).get("reproducibility") or {}).get("experiment_seed") or 0)


def join_ranks(stack: contextlib.ExitStack, num_gpus: int) -> Optional[core.DistributedContext]:
    """The ranks that torch's launcher started, in its process group; None without a launcher."""
    if os.environ.get("USE_HOROVOD") == "1":
        raise RuntimeError(
            "PyTorch trials do not support Horovod: start the ranks with "
            "determined.launch.torch_distributed"
        )
    if any(name not in os.environ for name in _RANK_VARIABLES):
        return None
    if num_gpus > 0:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]) % torch.cuda.device_count())
    if not torch.distributed.is_initialized():
        torch.distributed.init_process_group("nccl" if num_gpus > 0 else "gloo")
        stack.callback(torch.distributed.destroy_process_group)
    os.environ.setdefault("GROUP_RANK", "0")
    os.environ.setdefault("GROUP_WORLD_SIZE", "1")
    return core.DistributedContext.from_torch_distributed(
        chief_ip=os.environ.get("DET_CHIEF_IP") or os.environ.get("MASTER_ADDR")
    )
