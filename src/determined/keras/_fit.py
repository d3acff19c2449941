"""The training of a trial class of Keras, as the experiment's configuration says."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Dict, NamedTuple, Optional, Tuple

from determined._frameworks.trial import Length
from determined.core._searcher import Unit, length_of, units_of
from determined.keras._callback import DeterminedCallback
from determined.keras._trial import SequenceAdapter, TFKerasTrial, TFKerasTrialContext

if TYPE_CHECKING:
    from determined._experiment_config import ExperimentConfig

_OF_SEQUENCES = ("workers", "use_multiprocessing", "max_queue_size")


class PlanError(ValueError):
    """The configuration does not fit a trial class or its data."""


class Plan(NamedTuple):
    """The length and the periods of a training."""

    batches: int
    """Of the whole training."""
    steps: int
    """Batches of an epoch of `fit`, at whose end the trial is validated, saved and preempted."""
    checkpoint_epochs: int

    @property
    def epochs(self) -> int:
        """Epochs of `fit`."""
        return math.ceil(self.batches / self.steps)


class _TrialCallback(DeterminedCallback):
    """Takes its length from the plan, since an epoch of `fit` is no pass through the data."""

    plan: Plan

    def _length_of(self, core_context: Any) -> Optional[Length]:
        return Length(self.plan.batches, False)


def plan_of(config: ExperimentConfig, batch_size: int, data_batches: Optional[int]) -> Plan:
    """The plan of a training.

    Args:
        config: the experiment's configuration.
        batch_size: records of a batch.
        data_batches: batches of a pass through the data; None if they are not known.

    Raises:
        PlanError: the training has no length, or one in epochs of an unknown length.
    """
    records = config.get_records_per_epoch()
    epoch = records // batch_size if records else data_batches
    searcher = config.get("searcher") or {}
    value, unit = length_of(searcher), units_of(searcher)
    if value is None and searcher.get("time_metric") in ("batches", "epochs"):
        value, unit = searcher.get("max_time"), Unit(searcher["time_metric"].upper())
    name = (unit or Unit.BATCHES).value.lower()
    length = _batches({name: value or 0}, batch_size, epoch)
    if length is None:
        raise PlanError(
            "the configuration has no training length for the trial class: set "
            "searcher.max_length, such as {epochs: 10}, or searcher.max_time with a time_metric "
            "of batches or epochs"
        )
    validation = _batches(config.get_min_validation_period(), batch_size, epoch)
    steps = min(validation or epoch or config.scheduling_unit(), length)
    checkpoint = _batches(config.get_min_checkpoint_period(), batch_size, epoch)
    is_each = (config.get("checkpoint_policy") or "best") != "none"
    return Plan(
        batches=length,
        steps=steps,
        checkpoint_epochs=1 if is_each else max(1, checkpoint // steps) if checkpoint else 0,
    )


def train(trial: TFKerasTrial, context: TFKerasTrialContext, continue_id: int) -> None:
    """Train a trial until its length is reached or it is preempted.

    Args:
        trial: an instance of the trial class.
        context: the context that it was made with.
        continue_id: the id of the trial.

    Raises:
        PlanError: as `plan_of`, or the data has no known form.
    """
    model = trial.build_model()
    training, batches = _read(trial.build_training_data_loader(), context)
    validation, _ = _read(trial.build_validation_data_loader(), context)
    config, size = context.env.experiment_config, context.get_global_batch_size()
    plan = plan_of(config, size, batches)
    callback = type("_PlannedCallback", (_TrialCallback,), {"plan": plan})(
        context._core,
        context.env.latest_checkpoint,
        continue_id,
        train_metrics_report_period=min(config.scheduling_unit(), plan.steps),
        checkpoint_epochs=plan.checkpoint_epochs,
    )
    options = {n: v for n, v in context._fit_options.items() if n not in _OF_SEQUENCES}
    verbose = {True: 1, False: 0}.get(options.pop("verbose", None), "auto")
    model.fit(
        **training,
        validation_data=_as_validation(validation),
        epochs=plan.epochs,
        # The data restarts with each pass through it, so that a resumed training is the same.
        steps_per_epoch=None if plan.steps == batches else plan.steps,
        callbacks=[*trial.keras_callbacks(), callback],
        verbose=verbose,
        **options,
    )


def _read(data: Any, context: TFKerasTrialContext) -> Tuple[Dict[str, Any], Optional[int]]:
    """The arguments of `fit` for data, and its batches, if they are known."""
    if isinstance(data, SequenceAdapter):
        options = {name: getattr(data, name) for name in _OF_SEQUENCES}
        return {"x": _configured(data.sequence, options)}, len(data)
    if isinstance(data, tuple):
        names = ("x", "y", "sample_weight")
        if not 2 <= len(data) <= len(names):
            raise PlanError(
                f"a tuple of arrays must be (x, y) or (x, y, sample_weight), got {len(data)} parts"
            )
        size = context.get_per_slot_batch_size()
        first = data[1]
        while isinstance(first, (list, dict)):
            first = next(iter(first.values() if isinstance(first, dict) else first))
        return {**dict(zip(names, data)), "batch_size": size}, math.ceil(len(first) / size)
    if hasattr(data, "__getitem__") and hasattr(data, "__len__"):
        chosen = {n: v for n, v in context._fit_options.items() if n in _OF_SEQUENCES}
        return {"x": _configured(data, chosen)}, len(data)
    return {"x": data}, _cardinality(data)


def _configured(sequence: Any, options: Dict[str, Any]) -> Any:
    for name, value in options.items():
        if hasattr(sequence, name):
            setattr(sequence, name, value)
    return sequence


def _cardinality(data: Any) -> Optional[int]:
    """The batches of a data set of TensorFlow; None if it does not know them or has no end."""
    count = int(data.cardinality()) if hasattr(data, "cardinality") else -1
    return count if count > 0 else None


def _as_validation(arguments: Dict[str, Any]) -> Any:
    names = [name for name in ("x", "y", "sample_weight") if name in arguments]
    return arguments["x"] if names == ["x"] else tuple(arguments[name] for name in names)


def _batches(length: Dict[str, int], batch_size: int, epoch: Optional[int]) -> Optional[int]:
    """A length of the configuration in batches; None if there is none."""
    for unit, value in length.items():
        if not value:
            continue
        if unit == "epochs":
            if epoch is None:
                raise PlanError(
                    f"a length of {value} epochs needs records_per_epoch in the configuration: "
                    "the data does not know its length"
                )
            return value * epoch
        return value if unit == "batches" else max(1, value // batch_size)
    return None
