"""Training with Keras 3 on any of its back ends."""

from determined._frameworks.generators import get_rng_state, set_rng_state
from determined._internals import Internal
from determined.keras import callbacks
from determined.keras._callback import DeterminedCallback
from determined.keras._tensorboard import TensorBoard
from determined.keras._trial import CONTROLLER as TFKerasTrialController
from determined.keras._trial import (
    ArrayLike,
    InputData,
    SequenceAdapter,
    TFKerasExperimentalContext,
    TFKerasTrainConfig,
    TFKerasTrial,
    TFKerasTrialContext,
)

__all__ = [
    "ArrayLike",
    "DeterminedCallback",
    "InputData",
    "SequenceAdapter",
    "TFKerasExperimentalContext",
    "TFKerasTrainConfig",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "TFKerasTrialController",
    "TensorBoard",
    "callbacks",
    "get_rng_state",
    "set_rng_state",
]

_OF_TRIALS = {
    "TFKerasTensorBoard": "return determined.keras.TensorBoard(self.context._core) as a callback",
    "load_model_from_checkpoint_path": "build the model, and load its weights from "
    "model.weights.h5 of the checkpoint",
}
"""Names of 0.38.1 that raise, with what to use."""


def __getattr__(name: str) -> Internal:
    if name in _OF_TRIALS:
        return Internal(f"determined.keras.{name}", _OF_TRIALS[name])
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
