"""Training with Keras 3 on any of its back ends."""

from determined._frameworks.generators import get_rng_state, set_rng_state
from determined._internals import Internal
from determined.keras import callbacks
from determined.keras._callback import DeterminedCallback
from determined.keras._tensorboard import TensorBoard

__all__ = ["DeterminedCallback", "TensorBoard", "callbacks", "get_rng_state", "set_rng_state"]

_OF_TRIALS = (
    "ArrayLike",
    "InputData",
    "SequenceAdapter",
    "TFKerasExperimentalContext",
    "TFKerasTensorBoard",
    "TFKerasTrainConfig",
    "TFKerasTrial",
    "TFKerasTrialContext",
    "TFKerasTrialController",
    "load_model_from_checkpoint_path",
)
_REMEDY = "call model.fit with determined.keras.DeterminedCallback, as docs/keras.md shows"


def __getattr__(name: str) -> Internal:
    if name in _OF_TRIALS:
        return Internal(f"determined.keras.{name}", _REMEDY)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
