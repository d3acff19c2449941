"""Conversion of reported metrics to TensorBoard scalars."""

from __future__ import annotations

import abc
import logging
import pathlib
import tempfile
import time
from typing import Any, Dict, List, Optional

from determined.tensorboard._events import EventFile

logger = logging.getLogger("determined.tensorboard")


class MetricWriter(abc.ABC):
    """The interface of scalar writers."""

    @abc.abstractmethod
    def add_scalar(self, name: str, value: Any, step: int) -> None:
        """Write one number."""

    @abc.abstractmethod
    def reset(self) -> None:
        """Start a new file."""

    @abc.abstractmethod
    def flush(self) -> None:
        """Flush the written scalars."""


class EventFileWriter(MetricWriter):
    """Writes event files to a directory."""

    def __init__(self, directory: pathlib.Path) -> None:
        self._file = EventFile(directory)

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        self._file.add_scalar(name, float(value), int(step), time.time())

    def reset(self) -> None:
        self._file.close()

    def flush(self) -> None:
        self._file.flush()


class BatchMetricWriter:
    """Writes the metrics of training and validation as `Determined/NAME`."""

    def __init__(self, writer: MetricWriter) -> None:
        self.writer = writer

    def on_train_step_end(
        self,
        steps_completed: int,
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Write per-batch metrics at their own steps, and averages at the last step."""
        first = steps_completed - len(batch_metrics or ()) + 1
        seen = set()
        for offset, batch in enumerate(batch_metrics or ()):
            for name, value in batch.items():
                self._add(f"Determined/{name}", value, first + offset)
                seen.add(name)
        for name, value in metrics.items():
            if name not in seen:
                self._add(f"Determined/{name}", value, steps_completed)
        self.writer.flush()

    def on_validation_step_end(self, steps_completed: int, metrics: Dict[str, Any]) -> None:
        """Write a validation's metrics as `Determined/val_NAME`."""
        for name, value in metrics.items():
            prefix = "" if str(name).startswith("val") else "val_"
            self._add(f"Determined/{prefix}{name}", value, steps_completed)
        self.writer.flush()

    def _add(self, name: str, value: Any, step: int) -> None:
        if not isinstance(value, (int, float)):
            item = getattr(value, "item", None)
            if item is None or getattr(value, "size", 1) != 1:
                logger.debug("metric %s is not a number and is not written for TensorBoard", name)
                return
            value = item()
        if isinstance(value, (int, float)):
            self.writer.add_scalar(name, value, step)


def get_metric_writer(directory: Optional[pathlib.Path] = None) -> BatchMetricWriter:
    """A writer of event files, by default in this task's TensorBoard directory."""
    place = directory or pathlib.Path(tempfile.gettempdir(), "tensorboard")
    return BatchMetricWriter(EventFileWriter(place))
