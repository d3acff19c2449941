"""Metrics on their way to the master.

A report returns as soon as it lies in the spool, a bounded queue in this process; one thread
sends what has gathered there, many reports a request. The spool survives a master that is
away: a request is repeated for half an hour. It is drained when the context closes and when the
process ends by itself, so only a killed process loses what it had not sent.
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
BATCH_BYTES = 8 << 20
VALUE_BYTES = 24
"""A number's, as text or as Python holds it."""
WARN_FULL_EVERY_S = 60.0
POLL_EVERY_S = 0.02
POLLS_BEFORE_WAIT = 100
"""For two seconds after a report the thread looks for the next one by itself."""

logger = logging.getLogger("determined.core")

_encode_json = json.JSONEncoder(separators=(",", ":")).encode


class Report(NamedTuple):
    """One report as it waits in the spool."""

    group: str
    steps_completed: Optional[int]
    reported_at: float
    """In seconds since the epoch."""
    metrics: Dict[str, Any]
    """A copy that JSON can hold: what the caller changes later does not reach it."""
    size: int
    """About how many bytes it takes."""

    @property
    def what(self) -> str:
        """ExternalNames it in errors."""
        return f"{self.group} metrics at step {self.steps_completed}"


class _MetricsContext:
    """The spool of one trial run, and the thread that empties it.

    Args:
        session: of the task.
        trial_id: the trial.
        run_id: which start of the trial this is; the master refuses reports of earlier ones.
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
        """Start sending; the first report does so as well."""
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
        """Put a report into the spool, waiting while it is full.

        After `close` nobody would send it: it is dropped, and that is told once.

        Raises:
            ValueError: the group's name is empty or has a dot.
            TypeError: a metric is of a kind that cannot be reported.
            BadRequestException: the master refused an earlier report, or has been away for
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
                        "the spool of metrics is full (%d reports, %d MiB): waiting for the "
                        "master, which has not taken them",
                        len(self._spool),
                        self._bytes >> 20,
                    )
            self._raise_error()
            self._spool.append(report)
            self._bytes += report.size
            if self._is_waiting:  # waking a thread costs more than all the rest
                self._changed.notify_all()

    def flush(self) -> None:
        """Wait until the master has answered for every report so far; errors as `report`."""
        with self._changed:
            self._changed.notify_all()
            while (self._spool or self._sending) and self._thread and self._thread.is_alive():
                self._changed.wait(1.0)
            self._raise_error()

    def close(self) -> None:
        """Send what is left and stop; errors as `report`."""
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
                "the %s came after the end of the context and are not sent, nor is what follows: "
                "report inside of the with block",
                report.what,
            )

    def _drain_at_exit(self) -> None:
        try:
            self.close()
        except Exception as error:
            logger.error("metrics were lost at the end of the process: %s", error)

    def _encode(self, report: Report) -> bytes:
        """A report as the master takes it. The sender does this: it costs more than the call."""
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
        """Look now and then while reports come; sleep once none has come for a while.

        So who reports often is never held up to wake this thread.
        """
        looks = 0
        while not self._spool and not self._is_closing:
            self._is_waiting = looks >= POLLS_BEFORE_WAIT
            self._changed.wait(None if self._is_waiting else POLL_EVERY_S)
            looks += 1
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
                if error.status_code not in (404, 405, 501):
                    raise
                self._can_batch = False  # a master that does not know the route
        self._send_singly(batch)

    def _send_batch(self, batch: List[Report]) -> None:
        body = b'{"reports":[' + b",".join(map(self._encode, batch)) + b"]}"
        answer = self._post("metrics/batch", body).json() or {}
        results = answer.get("results") or []
        for report, result in zip(batch, results):
            if result.get("error"):
                raise errors.BadRequestException(
                    f"the master refused the {report.what}: {result['error']}"
                )

    def _send_singly(self, batch: List[Report]) -> None:
        problem: Optional[errors.APIException] = None
        for report in batch:
            try:
                self._post("metrics", self._encode(report))
            except errors.APIException as error:
                error.message = f"the master refused the {report.what}: {error.message}"
                problem = problem or error
        if problem is not None:
            raise problem

    def _send_from_fork(self, report: Report) -> None:
        """Send at once: a forked process lacks the thread, and may end before it could be drained.

        Over connections of its own, since those that it has belong to the other process as well.
        """
        with self._session.with_retry(self._session.retry) as session:
            self._post("metrics", self._encode(report), session)

    def _post(self, route: str, body: bytes, session: Optional[BaseSession] = None) -> Any:
        path = f"/api/v1/trials/{self._trial_id}/{route}"
        headers = {"Content-Type": "application/json"}
        return (session or self._session).post(path, data=body, headers=headers)


def _report(
    group: str,
    steps_completed: Optional[int],
    metrics: Dict[str, Any],
    batch_metrics: Optional[List[Dict[str, Any]]],
) -> Report:
    if not group or "." in group:
        raise ValueError(f"the group of metrics {group!r} must be a name without a dot")
    values: Dict[str, Any] = {"avgMetrics": plain_metrics(metrics)}
    if batch_metrics is not None:
        values["batchMetrics"] = [plain_metrics(batch) for batch in batch_metrics]
    steps = None if steps_completed is None else int(steps_completed)
    return Report(group, steps, time.time(), values, _size(values))


def _size(value: Any) -> int:
    """About how many bytes a value takes, in the spool and encoded."""
    if isinstance(value, dict):
        return sum(map(len, value)) + sum(map(_size, value.values()))
    if isinstance(value, list):
        return sum(map(_size, value))
    return VALUE_BYTES + (len(value) if isinstance(value, str) else 0)


def plain_metrics(metrics: Dict[str, Any], what: str = "metric") -> Dict[str, Any]:
    """Metrics as JSON holds them: numpy's numbers as Python's, NaN and the infinities as text.

    Args:
        metrics: by name; a number as a name is taken for its text.
        what: what one of them is called in errors.

    Raises:
        TypeError: a name is neither text nor a number, or a value is of a kind that JSON cannot
            hold.
    """
    values = {}
    for name, value in metrics.items():
        if not isinstance(name, (str, int, float)):
            raise TypeError(f"the name of a {what} must be text, got {name!r}")
        try:
            values[plain_key(name)] = plain(value)
        except NotSerializable as error:
            raise TypeError(
                f"{what} {name!r} is of type {error.kind}, which cannot be reported: give a "
                "number, text, or lists and dicts of them"
            ) from None
    return values
