"""Creation of a PyTorch trial's context, on and off the cluster."""

from __future__ import annotations

import contextlib
import logging
import os
from typing import Any, Dict, Iterator, Optional

from determined import core
from determined._info import ClusterInfo, get_cluster_info
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
    info = get_cluster_info()
    is_managed = info is not None and info.task_type == "TRIAL"
    if info is not None and is_managed:
        for name, given in (("hparams", hparams), ("exp_conf", exp_conf)):
            if given is not None:
                logger.warning("the argument %s is ignored on a cluster", name)
        hparams, exp_conf = info.trial.hparams, info.trial._config
    num_gpus = gpus_of(info if is_managed else None)
    seed = _seed(info if is_managed else None, exp_conf)
    mode = core.TensorboardMode.AUTO if enable_tensorboard_logging else core.TensorboardMode.MANUAL
    with contextlib.ExitStack() as stack:
        if distributed is None:
            distributed = join_ranks(stack, num_gpus)
        core_context = stack.enter_context(
            core.init(distributed=distributed, tensorboard_mode=mode)
        )
        rng.seed_all(seed)
        context = PyTorchTrialContext(
            core_context=core_context,
            trial_seed=seed,
            hparams=hparams,
            slots_per_trial=core_context.distributed.size,
            num_gpus=num_gpus,
            exp_conf=exp_conf,
            aggregation_frequency=aggregation_frequency,
            steps_completed=info.trial._steps_completed if info and is_managed else 0,
            managed_training=is_managed,
            debug_enabled=bool(info and is_managed and info.trial._debug),
            enable_tensorboard_logging=enable_tensorboard_logging,
        )
        try:
            yield context
        finally:
            if context._tbd_writer is not None:
                context._tbd_writer.close()


def gpus_of(info: Optional[ClusterInfo]) -> int:
    """The number of GPUs: on a cluster those of this container's slots, else all."""
    if not torch.cuda.is_available():
        return 0
    return len(info.gpu_uuids) if info is not None else int(torch.cuda.device_count())


def _seed(info: Optional[ClusterInfo], exp_conf: Optional[Dict[str, Any]]) -> int:
    if info is not None:
        return info.trial.trial_seed
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
