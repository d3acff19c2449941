"""The Core API context, which starts and closes its parts."""

from __future__ import annotations

import logging
import pathlib
import shutil
import signal
import sys
import threading
import traceback
import types
import weakref
from typing import TYPE_CHECKING, Any, Callable, List, Optional, Type

from determined.common.api import errors
from determined.core import _thread_watch
from determined.core._distributed import DistributedContext, DummyDistributedContext
from determined.core._experimental import DummyExperimentalCoreContext, ExperimentalCoreContext
from determined.core._off_cluster._dummy_train import DummyTrainContext
from determined.core._preempt import DummyPreemptContext, PreemptContext
from determined.core._profiler import DummyProfilerContext, ProfilerContext
from determined.core._searcher import SearcherContext, SearcherContextMissing
from determined.core._train import EarlyExitReason, TrainContext
from determined.errors import InvalidHP

if TYPE_CHECKING:
    from determined._info import ClusterInfo, TrialInfo
    from determined.common.api._session import BaseSession
    from determined.core._checkpoint import CheckpointContext
    from determined.core._metrics import _MetricsContext
    from determined.core._off_cluster._exit_monitor import ExitMonitor
    from determined.core._off_cluster._heartbeat import _Heartbeat
    from determined.tensorboard import TensorboardManager

logger = logging.getLogger("determined.core")

ALERT_LEVELS = ("debug", "info", "warn", "error")

_open: List[weakref.ref[Context]] = []
"""The contexts of this process that were started, the last one at the end."""


class Context:
    """The entry point of the Core API, used as `with core.init() as context`.

    Leaving the block sends all pending reports. An `InvalidHP` raised inside the block is
    reported and ends the process with exit code 0.
    """

    def __init__(
        self,
        checkpoint: CheckpointContext,
        _session: Optional[BaseSession] = None,
        distributed: Optional[DistributedContext] = None,
        preempt: Optional[PreemptContext] = None,
        train: Optional[TrainContext] = None,
        searcher: Optional[SearcherContext] = None,
        info: Optional[ClusterInfo] = None,
        experimental: Optional[ExperimentalCoreContext] = None,
        profiler: Optional[ProfilerContext] = None,
        _metrics: Optional[_MetricsContext] = None,
        _tensorboard_manager: Optional[TensorboardManager] = None,
        _heartbeat: Optional[_Heartbeat] = None,
        _log_shipper: Any = None,
    ) -> None:
        self.checkpoint = checkpoint
        self.distributed = distributed or DummyDistributedContext()
        self.preempt = preempt or DummyPreemptContext(self.distributed)
        self.train = train or DummyTrainContext()
        self.searcher = searcher or SearcherContextMissing()
        self.info = info
        self.experimental = experimental or DummyExperimentalCoreContext()
        self.profiler = profiler or DummyProfilerContext()
        self._session = _session
        self._metrics = _metrics
        self._tensorboard_manager = _tensorboard_manager
        self._heartbeat = _heartbeat
        self._log_shipper = _log_shipper
        self._exit_monitor: Optional[ExitMonitor] = None
        self._scratch: Optional[pathlib.Path] = None
        """A directory of this context, removed by `close`."""
        self._is_started = False

    @property
    def is_open(self) -> bool:
        """Whether it is started and not closed."""
        return self._is_started

    def start(self) -> None:
        """Start the background threads."""
        if self._is_started:
            return
        self._is_started = True
        _open.append(weakref.ref(self))
        _thread_watch.start()
        self.preempt.start()
        for part in (
            self._metrics,
            self._tensorboard_manager,
            self._exit_monitor,
            self._log_shipper,
            self._heartbeat,
        ):
            if part is not None:
                part.start()
        _print_stack_on_signal()

    def alert(
        self,
        title: Optional[str] = None,
        description: Optional[str] = None,
        level: Optional[str] = "info",
    ) -> None:
        """Send an alert to the webhooks that the experiment names in `integrations.webhooks`.

        Outside of a trial the alert is logged. One that the master refuses is logged, too: an
        alert does not end a training.

        Raises:
            ValueError: `level` is not one of debug, info, warn, error.
        """
        level = (level or "info").lower()
        if level not in ALERT_LEVELS:
            raise ValueError(f"level must be one of {', '.join(ALERT_LEVELS)}; got {level!r}")
        if self._session is None or self.info is None or self.info.task_type != "TRIAL":
            logger.info("alert (%s): %s: %s", level, title, description)
            return
        try:
            self._post_alert(self._session, self.info.trial, title, description, level)
        except errors.APIException as error:
            text = "the alert (%s) %s: %s was not sent: %s"
            logger.warning(text, level, title, description, error)

    def close(
        self,
        exc_type: Optional[Type[BaseException]] = None,
        exc_val: Optional[BaseException] = None,
        exc_tb: Optional[types.TracebackType] = None,
    ) -> None:
        """Send pending reports and close all parts, even if one of them fails.

        Raises:
            Exception: the first error of a part, unless the block itself raised an error.
        """
        if not self._is_started:
            return
        self._is_started = False
        failures: List[Exception] = []
        for close in self._closings(exc_type, exc_val):
            try:
                close()
            except Exception as error:
                failures.append(error)
        if not failures:
            return
        if exc_type is None:
            raise failures[0]
        for failure in failures:
            logger.error("closing the context after an error: %s", failure)

    def __enter__(self) -> Context:
        self.start()
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc_val: Optional[BaseException],
        exc_tb: Optional[types.TracebackType],
    ) -> None:
        is_invalid = exc_type is not None and issubclass(exc_type, InvalidHP)
        if is_invalid:
            logger.warning("invalid hyperparameters: %s", exc_val)
            if self._metrics is not None:
                self._metrics.flush()
            self.train.report_early_exit(EarlyExitReason.INVALID_HP)
        self.close(exc_type, exc_val, exc_tb)
        if is_invalid:
            sys.exit(0)

    @staticmethod
    def _post_alert(
        session: BaseSession,
        trial: TrialInfo,
        title: Optional[str],
        description: Optional[str],
        level: str,
    ) -> None:
        name = {"warn": "WARNING"}.get(level, level.upper())
        data = {"title": title, "description": description, "level": f"LOG_LEVEL_{name}"}
        session.post(
            "/api/v1/webhooks/custom",
            json={
                "data": {key: value for key, value in data.items() if value is not None},
                "experimentId": trial.experiment_id,
                "trialId": trial.trial_id,
            },
        )

    def _closings(
        self, exc_type: Optional[Type[BaseException]], exc_val: Optional[BaseException]
    ) -> List[Callable[[], Any]]:
        closings: List[Callable[[], Any]] = [
            self.preempt.close,
            self.distributed.close,
            self.profiler.off,
        ]
        if self._metrics is not None:
            closings.append(self._metrics.close)
        closings.append(self.train._end_event_file)
        if self._tensorboard_manager is not None:
            closings.append(self._tensorboard_manager.close)
        scratch = self._scratch
        if scratch is not None:
            closings.append(lambda: shutil.rmtree(scratch, ignore_errors=True))
        # The log is sent before the trial ends, since log followers stop at its end.
        if self._log_shipper is not None:
            closings.append(self._log_shipper.close)
        failed = exc_type is not None and not _is_clean_exit(exc_val)
        if self._exit_monitor is not None:
            failed = failed or self._exit_monitor.failed
            closings.append(self._exit_monitor.close)
        heartbeat = self._heartbeat
        if heartbeat is not None:
            closings.append(lambda: heartbeat.close(failed))
        if self._session is not None:
            closings.append(self._session.close)
        return closings


def open_context() -> Optional[Context]:
    """The context of this process that was started last and is open; None without one."""
    contexts = [(reference, reference()) for reference in _open]
    _open[:] = [ref for ref, context in contexts if context is not None and context.is_open]
    return _open[-1]() if _open else None


def _is_clean_exit(error: Optional[BaseException]) -> bool:
    return isinstance(error, SystemExit) and not error.code


def _print_stack_on_signal() -> None:
    """Make SIGUSR1 print the main thread's stack before it runs the previous handler."""
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGUSR1)
    if getattr(before, "_prints_stack", False):
        return

    def print_stack(signum: int, frame: Optional[types.FrameType]) -> None:
        traceback.print_stack(frame, file=sys.stderr)
        if callable(before):
            before(signum, frame)

    print_stack._prints_stack = True  # type: ignore[attr-defined]  # installed once
    signal.signal(signal.SIGUSR1, print_stack)
