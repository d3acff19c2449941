"""The TensorBoard callback of Keras, with files in the trial's place."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from determined.keras._keras import keras

if TYPE_CHECKING:
    from determined import core


class TensorBoard(keras.callbacks.TensorBoard):
    """Writes event files where the trial's are uploaded from.

    Args:
        core_context: the Core API context.
        args, kwargs: as `keras.callbacks.TensorBoard`, without `log_dir`.

    Raises:
        TypeError: `log_dir` is passed.
    """

    def __init__(self, core_context: core.Context, *args: Any, **kwargs: Any) -> None:
        if args or "log_dir" in kwargs:
            raise TypeError(
                "determined.keras.TensorBoard writes to the trial's own directory: leave out "
                "log_dir, and pass the other arguments by name"
            )
        path = core_context.train.get_tensorboard_path()
        super().__init__(log_dir=os.fspath(path), **kwargs)
