"""DeepSpeed training: trial classes, the trainer, and their contexts.

Names are imported on first use; they need PyTorch and DeepSpeed.
"""

TYPE_CHECKING = False  # as in `determined`: type checkers treat it as true

if TYPE_CHECKING:
    from determined.pytorch.deepspeed._config import (
        overwrite_deepspeed_config as overwrite_deepspeed_config,
    )
    from determined.pytorch.deepspeed._context import (
        DeepSpeedTrialContext as DeepSpeedTrialContext,
    )
    from determined.pytorch.deepspeed._controller import (
        DeepSpeedTrialController as DeepSpeedTrialController,
    )
    from determined.pytorch.deepspeed._init import init as init
    from determined.pytorch.deepspeed._mpu import ModelParallelUnit as ModelParallelUnit
    from determined.pytorch.deepspeed._mpu import make_data_parallel_mpu as make_data_parallel_mpu
    from determined.pytorch.deepspeed._mpu import make_deepspeed_mpu as make_deepspeed_mpu
    from determined.pytorch.deepspeed._trainer import Trainer as Trainer
    from determined.pytorch.deepspeed._trial import DeepSpeedTrial as DeepSpeedTrial

_MODULE_OF = {
    "DeepSpeedTrial": "_trial",
    "DeepSpeedTrialContext": "_context",
    "DeepSpeedTrialController": "_controller",
    "ModelParallelUnit": "_mpu",
    "Trainer": "_trainer",
    "init": "_init",
    "make_data_parallel_mpu": "_mpu",
    "make_deepspeed_mpu": "_mpu",
    "overwrite_deepspeed_config": "_config",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name not in _MODULE_OF:
        raise AttributeError(f"module 'determined.pytorch.deepspeed' has no attribute {name!r}")
    value = getattr(import_module(f"determined.pytorch.deepspeed.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value
