"""Searcher operations, for scripts written for older versions.

A search no longer assigns training lengths. A trial trains until it is done, or until
`core_context.preempt.should_preempt()` returns True, which it also does for a trial that the
searcher stops.
"""

from __future__ import annotations

import enum
import logging
import warnings
from typing import TYPE_CHECKING, Any, Iterator, Optional

from determined.core._modes import choice
from determined.core._off_cluster._tell import tell

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession
    from determined.core._distributed import DistributedContext

logger = logging.getLogger("determined.core")


class Unit(enum.Enum):
    """The unit of a length."""

    EPOCHS = "EPOCHS"
    RECORDS = "RECORDS"
    BATCHES = "BATCHES"


class SearcherMode(enum.Enum):
    """Which ranks iterate over the operations."""

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHEIF_ONLY"


class SearcherOperation:
    """Train up to `length`, then report the searcher's metric."""

    def __init__(
        self, session: Optional[BaseSession], trial_id: int, length: int, is_chief: bool
    ) -> None:
        self._session = session
        self._trial_id = trial_id
        self._length = length
        self._is_chief = is_chief
        self._completed = False

    @property
    def length(self) -> int:
        """How far to train, in the unit of `searcher.max_length`."""
        return self._length

    def report_progress(self, length: float) -> None:
        """Report the length trained so far, in the unit of `length`; chief only.

        Raises:
            RuntimeError: a worker called, or the operation is completed and `length` is not its
                full length.
        """
        self._check("report_progress", is_end=length == self._length)
        if self._session is None:
            tell("progress: %s of %s", length, self._length)
            return
        progress = float(length) / self._length if self._length else 1.0
        progress = min(1.0, max(0.0, progress))
        self._session.post(
            f"/api/v1/trials/{self._trial_id}/progress",
            json={"progress": progress, "is_raw": True},
        )

    def report_completed(self, searcher_metric: Any) -> None:
        """Complete the operation; chief only. The metric is the one reported in a validation.

        Raises:
            RuntimeError: as `report_progress`.
        """
        self._check("report_completed")
        self._completed = True
        logger.debug("operation of length %s ended with %s", self._length, searcher_metric)

    def _check(self, call: str, is_end: bool = False) -> None:
        if not self._is_chief:
            raise RuntimeError(f"only the chief may call {call}")
        if self._completed and not is_end:
            raise RuntimeError(f"{call} was called after report_completed")


class SearcherContext:
    """Yields the one operation of a trial: to train up to `max_length`."""

    def __init__(
        self,
        session: Optional[BaseSession],
        dist: DistributedContext,
        trial_id: int,
        max_length: int,
        units: Optional[Unit] = None,
    ) -> None:
        self._session = session
        self._dist = dist
        self._trial_id = trial_id
        self._length = max_length
        self._units = units

    def operations(
        self,
        searcher_mode: SearcherMode = SearcherMode.WorkersAskChief,
        auto_ack: bool = True,
    ) -> Iterator[SearcherOperation]:
        """The operations of this trial: exactly one. Deprecated.

        Raises:
            RuntimeError: a worker called in `SearcherMode.ChiefOnly`, or the chief did not
                complete the operation.
            ValueError: the mode does not exist.
        """
        mode = choice(SearcherMode, searcher_mode, "searcher_mode")
        warnings.warn(
            "SearcherContext.operations is deprecated: train for as long as the configuration "
            "says, and exit when core_context.preempt.should_preempt() returns True",
            FutureWarning,
            stacklevel=2,
        )
        return self._operations(mode)

    def acknowledge_out_of_ops(self) -> None:
        """Do nothing: there is only one operation."""

    def get_configured_units(self) -> Optional[Unit]:
        """The unit of `searcher.max_length`; None if it has none."""
        return self._units

    def _operations(self, searcher_mode: SearcherMode) -> Iterator[SearcherOperation]:
        is_chief = self._dist.rank == 0
        if searcher_mode is SearcherMode.ChiefOnly and not is_chief:
            raise RuntimeError("only the chief may ask for operations in SearcherMode.ChiefOnly")
        operation = self._make(is_chief)
        yield operation
        if is_chief and not operation._completed:
            raise RuntimeError(
                "the operation was not completed: call op.report_completed(value) before the next "
                "iteration"
            )

    def _make(self, is_chief: bool) -> SearcherOperation:
        return SearcherOperation(self._session, self._trial_id, self._length, is_chief)


class DummySearcherOperation(SearcherOperation):
    """An operation off the cluster, which logs its reports."""

    def __init__(self, length: int, is_chief: bool) -> None:
        super().__init__(None, 0, length, is_chief)


class DummySearcherContext(SearcherContext):
    """One operation of a given length, off the cluster."""

    def __init__(self, dist: DistributedContext, length: int = 1) -> None:
        super().__init__(None, dist, 0, length, Unit.EPOCHS)

    def _make(self, is_chief: bool) -> SearcherOperation:
        return DummySearcherOperation(self._length, is_chief)


class SearcherContextMissing(SearcherContext):
    """Used if the configuration has no `searcher.max_length`; every call raises."""

    def __init__(self) -> None:
        pass

    def operations(
        self,
        searcher_mode: SearcherMode = SearcherMode.WorkersAskChief,
        auto_ack: bool = True,
    ) -> Iterator[SearcherOperation]:
        """Raise ValueError."""
        raise _missing("operations")

    def acknowledge_out_of_ops(self) -> None:
        """Raise ValueError."""
        raise _missing("acknowledge_out_of_ops")

    def get_configured_units(self) -> Optional[Unit]:
        """Raise ValueError."""
        raise _missing("get_configured_units")


def units_of(searcher: Any) -> Optional[Unit]:
    """The unit in a searcher's configuration, or None."""
    unit = searcher.get("unit")
    length = searcher.get("max_length")
    if unit is None and isinstance(length, dict) and len(length) == 1:
        unit = next(iter(length))
    try:
        return Unit(str(unit).upper())
    except ValueError:
        return None


def length_of(searcher: Any) -> Optional[int]:
    """The `max_length` in a searcher's configuration, or None."""
    length = searcher.get("max_length")
    if isinstance(length, dict) and len(length) == 1:
        length = next(iter(length.values()))
    return None if length is None else int(length)


def _missing(call: str) -> ValueError:
    return ValueError(
        f"core_context.searcher.{call}() needs searcher.max_length in the experiment's "
        "configuration. Preferably train for as long as the script decides, and exit when "
        "core_context.preempt.should_preempt() returns True"
    )
