"""Trial classes of Keras, their context and their data."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any, Dict, List, NamedTuple, Optional, Union

from determined._internals import Internal
from determined._trial_context import LegacyTrial, TrialContext
from determined.keras._keras import keras

if TYPE_CHECKING:
    import numpy as np

_arg_not_provided: Any = object()
CONTROLLER = Internal(
    "determined.keras.TFKerasTrialController", "a trial class is trained by its entrypoint"
)


class SequenceAdapter:
    """A sequence of batches (`keras.utils.Sequence`, `PyDataset`) and how it is read.

    Args:
        sequence: the batches.
        use_multiprocessing, workers, max_queue_size: as in Keras, where the sequence has them.
    """

    def __init__(
        self,
        sequence: Any,
        use_multiprocessing: bool = False,
        workers: int = 1,
        max_queue_size: int = 10,
    ) -> None:
        self.sequence = sequence
        self.use_multiprocessing = use_multiprocessing
        self.workers = workers
        self.max_queue_size = max_queue_size

    def __len__(self) -> int:
        return len(self.sequence)


ArrayLike = Union["np.ndarray", List["np.ndarray"], Dict[str, "np.ndarray"]]
InputData = Any
"""Arrays as `(x, y)` or `(x, y, sample_weight)`, a sequence, a `SequenceAdapter` or a
`tf.data.Dataset`."""


class TFKerasTrainConfig(NamedTuple):
    """The data and the callbacks of a training."""

    training_data: InputData
    validation_data: InputData
    callbacks: List[Any]


class TFKerasExperimentalContext:
    """Caches of data sets, which 0.38.1 has removed, too."""

    def cache_train_dataset(self, *args: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError("cache_train_dataset is not there: use tf.data.Dataset.cache()")

    def cache_validation_dataset(self, *args: Any) -> Any:
        """Raise NotImplementedError."""
        raise NotImplementedError(
            "cache_validation_dataset is not there: use tf.data.Dataset.cache()"
        )


class TFKerasTrialContext(TrialContext):
    """Takes the model of a trial class and the options of its training."""

    def __init__(self, *arg: Any, **kwarg: Any) -> None:
        super().__init__(*arg, **kwarg)
        self.dataset_initialized = False
        self.experimental = TFKerasExperimentalContext()
        self.model: Any = None
        self.compile_args: Any = None
        self.train_config: Optional[TFKerasTrainConfig] = None
        self._fit_options: Dict[str, Any] = {}

    def get_global_batch_size(self) -> int:
        """The hyperparameter `global_batch_size`.

        Raises:
            ValueError: it is not there, or is no whole number above 0.
        """
        size = self.get_hparam("global_batch_size")
        if not isinstance(size, int) or size < 1:
            raise ValueError(
                f"hyperparameter global_batch_size must be a whole number above 0, got {size!r}"
            )
        return size

    def get_per_slot_batch_size(self) -> int:
        """The records of a batch of one slot; a trial class is trained on one."""
        return self.get_global_batch_size() // self.distributed.size

    def configure_fit(
        self,
        verbose: Optional[bool] = None,
        class_weight: Any = _arg_not_provided,
        workers: Optional[int] = None,
        use_multiprocessing: Optional[bool] = None,
        max_queue_size: Optional[bool] = None,
        shuffle: Optional[bool] = None,
        validation_steps: Any = _arg_not_provided,
    ) -> None:
        """Set arguments of `Model.fit`; an argument that is left out keeps its value.

        `workers`, `use_multiprocessing` and `max_queue_size` are attributes of sequences in
        Keras 3, and are set there.
        """
        options = {
            "verbose": verbose,
            "workers": workers,
            "use_multiprocessing": use_multiprocessing,
            "max_queue_size": max_queue_size,
            "shuffle": shuffle,
        }
        self._fit_options.update({n: value for n, value in options.items() if value is not None})
        for name, value in (
            ("class_weight", class_weight),
            ("validation_steps", validation_steps),
        ):
            if value is not _arg_not_provided:
                self._fit_options[name] = value

    def wrap_model(self, model: Any) -> Any:
        """Note the model; return it."""
        self.model = model
        return model

    def wrap_optimizer(self, optimizer: Any) -> Any:
        """Return the optimizer: one slot needs no other."""
        return optimizer

    def wrap_dataset(self, dataset: Any, shard_dataset: bool = True) -> Any:
        """Return the data set: one slot reads all of it."""
        self.dataset_initialized = True
        return dataset


class TFKerasTrial(LegacyTrial):
    """A model with its data, trained by `Model.fit` as the configuration says.

    A subclass calls `super().__init__` or keeps the context as `self.context`.
    """

    trial_controller_class: Any = CONTROLLER
    trial_context_class: Any = TFKerasTrialContext

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    @abc.abstractmethod
    def build_model(self) -> keras.Model:
        """The compiled model."""

    @abc.abstractmethod
    def build_training_data_loader(self) -> InputData:
        """The data to train with."""

    @abc.abstractmethod
    def build_validation_data_loader(self) -> InputData:
        """The data to validate with."""

    def session_config(self) -> Any:
        """None: only TensorFlow 1 has sessions."""
        return None

    def keras_callbacks(self) -> List[keras.callbacks.Callback]:
        """Callbacks of Keras; those of `determined.keras.callbacks` have their state saved."""
        return []
