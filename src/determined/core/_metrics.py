"""Batching and sending of reported metrics.

A report is put into a spool, a bounded queue in this process, and the call returns. One thread
sends the queued reports in batches. If the master is not available, a request is retried for half
an hour. The spool is drained when the context closes and when the process exits, so reports are
lost only if the process is killed.
"""

from __future__ import annotations

import atexit
import datetime
import json
import logging
import os
import threading
import time
from collections import deque
from typing import Any, Deque, Dict, List, NamedTuple, Optional

from determined.common._plain import NotSerializable, plain, plain_key
from determined.common.api import errors
from determined.common.api._session import BaseSession

MAX_REPORTS = 10_000
MAX_BYTES = 64 << 20
BATCH_REPORTS = 1000
BATCH_BYTES = 2 << 20
VALUE_BYTES = 24
"""The approximate size of a number, in memory or encoded."""
WARN_FULL_EVERY_S = 60.0
POLL_EVERY_S = 0.02
POLLS_BEFORE_WAIT = 100
"""After a report the thread polls for two seconds before it waits to be notified."""

_OLDER_MASTER = (404, 405, 501)
"""Statuses of a master without the route of batches."""
_UNREADABLE = (400, 413)
"""Statuses of a whole batch for one of its reports: one by one, the others are stored."""

logger = logging.getLogger("determined.core")

_encode_json = json.JSONEncoder(separators=(",", ":")).encode


class Report(NamedTuple):
    """One report in the spool."""

    group: str
    steps_completed: Optional[int]
    reported_at: float
    """In seconds since the epoch."""
    metrics: Dict[str, Any]
    """A JSON-compatible copy, so later changes by the caller have no effect."""
    size: int
    """The approximate size in bytes."""

    @property
    def what(self) -> str:
        """Its name in errors."""
        return f"{self.group} metrics at step {self.steps_completed}"


class _MetricsContext:
    """The spool of one trial run, and the thread that sends its reports.

    Args:
        session: the task's session.
        trial_id: the trial.
        run_id: the number of this run; the master refuses reports of earlier runs.
    """

    def __init__(self, session: BaseSession, trial_id: int, run_id: int) -> None:
        self._session = session
        self._trial_id = trial_id
        self._run_id = run_id
        self._process = os.getpid()
        self._changed = threading.Condition()
        self._spool: Deque[Report] = deque()
        self._bytes = 0
        self._sending = 0
        self._error: Optional[BaseException] = None
        self._is_closing = False
        self._has_warned_late = False
        self._is_waiting = False
        self._can_batch = True
        self._thread: Optional[threading.Thread] = None

    def start(self) -> None:
        """Start the thread; the first report does so too."""
        if self._thread is not None:
            return
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name="det-metrics", daemon=True)
        self._thread.start()
        atexit.register(self._drain_at_exit)

    def report(
        self,
        group: str,
        steps_completed: Optional[int],
        metrics: Dict[str, Any],
        batch_metrics: Optional[List[Dict[str, Any]]] = None,
    ) -> None:
        """Put a report into the spool; block while the spool is full.

        A report after `close` is dropped with one warning.

        Raises:
            ValueError: the group's name is empty or contains a dot.
            TypeError: a metric has a type that cannot be reported.
            BadRequestException: the master refused an earlier report, or was not available for
                too long.
        """
        report = _report(group, steps_completed, metrics, batch_metrics)
        if self._is_closing:
            self._warn_late(report)
            return
        if os.getpid() != self._process:
            self._send_from_fork(report)
            return
        with self._changed:
            self.start()  # for scripts that never enter the context
            self._raise_error()
            said_at = time.monotonic()
            while self._is_full() and self._error is None:
                self._changed.wait(1.0)
                if time.monotonic() - said_at >= WARN_FULL_EVERY_S:
                    said_at = time.monotonic()
                    logger.warning(
                        "the spool of metrics is full (%d reports, %d MiB); waiting for the "
                        "master to accept them",
                        len(self._spool),
                        self._bytes >> 20,
                    )
            self._raise_error()
            self._spool.append(report)
            self._bytes += report.size
            if self._is_waiting:  # notifying a thread costs more than the rest of this call
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until the master has answered every report so far; errors as `report`."""
        with self._changed:
            self._changed.notify_all()
            while (self._spool or self._sending) and self._thread and self._thread.is_alive():
                self._changed.wait(1.0)
            self._raise_error()

    def close(self) -> None:
        """Send the remaining reports and stop the thread; errors as `report`."""
        if self._thread is None:
            return
        atexit.unregister(self._drain_at_exit)
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()
        self._thread = None
        with self._changed:
            self._raise_error()

    def _warn_late(self, report: Report) -> None:
        if not self._has_warned_late:
            self._has_warned_late = True
            logger.warning(
                "the %s were reported after the context was closed and are dropped, as are later "
                "reports; report inside the with block",
                report.what,
            )

    def _drain_at_exit(self) -> None:
        try:
            self.close()
        except Exception as error:
            logger.error("metrics were lost at process exit: %s", error)

    def _encode(self, report: Report) -> bytes:
        """Encode a report. The sending thread does this, since it costs more than `report`."""
        reported_at = datetime.datetime.fromtimestamp(report.reported_at, datetime.timezone.utc)
        body: Dict[str, Any] = {
            "trialId": self._trial_id,
            "trialRunId": self._run_id,
            "reportTime": reported_at.isoformat(),
            "metrics": report.metrics,
        }
        if report.steps_completed is not None:
            body["stepsCompleted"] = report.steps_completed
        return _encode_json({"group": report.group, "metrics": body}).encode()

    def _is_full(self) -> bool:
        return len(self._spool) >= MAX_REPORTS or self._bytes >= MAX_BYTES

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _run(self) -> None:
        while True:
            with self._changed:
                self._wait_for_reports()
                if not self._spool:
                    return
                batch = self._take_batch()
            problem: Optional[BaseException] = None
            try:
                self._send(batch)
            except Exception as error:
                problem = error
            with self._changed:
                self._sending = 0
                self._error = self._error or problem
                self._changed.notify_all()

    def _wait_for_reports(self) -> None:
        """Poll while reports arrive; wait to be notified once none has arrived for a while.

        A caller that reports often thus never pays for notifying this thread.
        """
        polls = 0
        while not self._spool and not self._is_closing:
            self._is_waiting = polls >= POLLS_BEFORE_WAIT
            self._changed.wait(None if self._is_waiting else POLL_EVERY_S)
            polls += 1
        self._is_waiting = False

    def _take_batch(self) -> List[Report]:
        batch: List[Report] = []
        size = 0
        while self._spool and len(batch) < BATCH_REPORTS and size < BATCH_BYTES:
            report = self._spool.popleft()
            size += report.size
            batch.append(report)
        self._bytes -= size
        self._sending = len(batch)
        return batch

    def _send(self, batch: List[Report]) -> None:
        if len(batch) > 1 and self._can_batch:
            try:
                self._send_batch(batch)
                return
            except errors.APIException as error:
                if error.status_code in _OLDER_MASTER:
                    self._can_batch = False
                elif error.status_code not in _UNREADABLE:
                    raise
        self._send_singly(batch)

    def _send_batch(self, batch: List[Report]) -> None:
        body = b'{"reports":[' + b",".join(map(self._encode, batch)) + b"]}"
        answer = self._post("metrics/batch", body).json() or {}
        refused = [
            errors.BadRequestException(f"the master refused the {report.what}: {result['error']}")
            for report, result in zip(batch, answer.get("results") or [])
            if result.get("error")
        ]
        _raise_first(refused)

    def _send_singly(self, batch: List[Report]) -> None:
        refused: List[errors.BadRequestException] = []
        for report in batch:
            try:
                self._post("metrics", self._encode(report))
            except errors.APIException as error:
                error.message = f"the master refused the {report.what}: {error.message}"
                refused.append(error)
        _raise_first(refused)

    def _send_from_fork(self, report: Report) -> None:
        """Send immediately: a forked process lacks the thread and may exit without draining.

        Uses new connections, since the parent process shares the existing ones.
        """
        with self._session.with_retry(self._session.retry) as session:
            self._post("metrics", self._encode(report), session)

    def _post(self, route: str, body: bytes, session: Optional[BaseSession] = None) -> Any:
        path = f"/api/v1/trials/{self._trial_id}/{route}"
        headers = {"Content-Type": "application/json"}
        return (session or self._session).post(path, data=body, headers=headers)


def _raise_first(refused: List[errors.BadRequestException]) -> None:
    """Raise the first refusal in the script's next call, and log the others."""
    for error in refused[1:]:
        logger.error("%s", error.message)
    if refused:
        raise refused[0]


def _report(
    group: str,
    steps_completed: Optional[int],
    metrics: Dict[str, Any],
    batch_metrics: Optional[List[Dict[str, Any]]],
) -> Report:
    check_group(group)
    values: Dict[str, Any] = {"avgMetrics": plain_metrics(metrics)}
    if batch_metrics is not None:
        values["batchMetrics"] = [plain_metrics(batch) for batch in batch_metrics]
    steps = None if steps_completed is None else int(steps_completed)
    return Report(group, steps, time.time(), values, _size(values))


def check_group(group: Any) -> None:
    """Refuse a group of metrics that cannot have that name.

    Raises:
        TypeError: it is no text. ValueError: it is empty or contains a dot.
    """
    if not isinstance(group, str):
        raise TypeError(f"group must be text, got {group!r}")
    if not group or "." in group:
        raise ValueError(f"the group of metrics {group!r} must be a name without a dot")


def _size(value: Any) -> int:
    """The approximate size of a value in bytes, in memory and encoded."""
    if isinstance(value, dict):
        return sum(map(len, value)) + sum(map(_size, value.values()))
    if isinstance(value, list):
        return sum(map(_size, value))
    return VALUE_BYTES + (len(value) if isinstance(value, str) else 0)


def plain_metrics(metrics: Dict[str, Any], what: str = "metric") -> Dict[str, Any]:
    """JSON-compatible metrics: NumPy numbers as Python's, NaN and infinities as text.

    Args:
        metrics: values by name; a name that is a number is converted to text.
        what: the noun for one value in errors.

    Raises:
        TypeError: a name is neither text nor a number, or JSON cannot represent a value.
    """
    values = {}
    for name, value in metrics.items():
        if not isinstance(name, (str, int, float)):
            raise TypeError(f"the name of a {what} must be text, got {name!r}")
        try:
            values[plain_key(name)] = plain(value)
        except NotSerializable as error:
            raise TypeError(
                f"{what} {name!r} is of type {error.kind}, which cannot be reported: use numbers, "
                "text, or lists and dicts of them"
            ) from None
    return values
