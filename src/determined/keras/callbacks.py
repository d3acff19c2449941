"""Callbacks whose state is a part of the checkpoints of `DeterminedCallback`.

An epoch is what 0.38.1 called a workload.
"""

from __future__ import annotations

from typing import Any, ClassVar, Dict, Optional, Tuple

from determined.keras._keras import keras

SIBLINGS = "_determined_callbacks"
"""Key of the parameters of one call of `fit`, which all of its callbacks get."""


class Callback(keras.callbacks.Callback):
    """A callback of Keras with a state that is saved and restored.

    List it before the `DeterminedCallback`, which saves at the end of an epoch.
    """

    def set_params(self, params: Dict[str, Any]) -> None:
        """Join the callbacks of this call of `fit`."""
        super().set_params(params)
        params.setdefault(SIBLINGS, []).append(self)

    def on_train_workload_begin(
        self, total_batches_trained: int, batches_requested: Optional[int], logs: Dict[str, Any]
    ) -> None:
        """Called when an epoch begins; `batches_requested` is None if its length is not known."""

    def on_train_workload_end(self, total_batches_trained: int, logs: Dict[str, Any]) -> None:
        """Called when an epoch has ended, before it is saved."""

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        """Called when a checkpoint has been written; files may still be added to it."""

    def get_state(self) -> Any:
        """The state to store in a checkpoint; it must be possible to pickle it."""
        return None

    def load_state(self, state: Any) -> None:
        """Continue with the state of a checkpoint, after `on_train_begin`."""


class _Stateful(Callback):
    """Stores attributes of a callback of Keras."""

    _names: ClassVar[Tuple[str, ...]] = ()

    def __init__(self, *arg: Any, **kwarg: Any) -> None:
        super().__init__(*arg, **kwarg)
        self.test_end_count = 0

    def on_test_end(self, logs: Optional[Dict[str, Any]] = None) -> None:
        """Count the validations."""
        super().on_test_end(logs)
        self.test_end_count += 1

    def get_state(self) -> Any:
        """The attributes by name."""
        return {name: getattr(self, name) for name in ("test_end_count", *self._names)}

    def load_state(self, state: Any) -> None:
        """Set the attributes."""
        self.__dict__.update(state)


class EarlyStopping(_Stateful, keras.callbacks.EarlyStopping):
    """`keras.callbacks.EarlyStopping` with its patience and best value in checkpoints."""

    _names = ("wait", "stopped_epoch", "best", "best_epoch", "best_weights")


class ReduceLROnPlateau(_Stateful, keras.callbacks.ReduceLROnPlateau):
    """`keras.callbacks.ReduceLROnPlateau` with its patience and best value in checkpoints."""

    _names = ("wait", "cooldown_counter", "best")


class TensorBoard(_Stateful, keras.callbacks.TensorBoard):
    """`keras.callbacks.TensorBoard` that counts its batches on after a resume."""

    _names = ("workload_end_count", "_global_train_batch", "_global_test_batch")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.workload_end_count = 0

    def on_train_workload_end(self, total_batches_trained: int, logs: Dict[str, Any]) -> None:
        """Count the epochs."""
        self.workload_end_count += 1
