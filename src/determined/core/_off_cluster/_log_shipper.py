"""Shipping of a detached program's output to its trial's log."""

from __future__ import annotations

import datetime
import sys
import threading
from collections import deque
from typing import TYPE_CHECKING, Any, Deque, Dict, List, Optional

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession

EVERY_S = 1.0
MAX_LINES = 10_000
BATCH_LINES = 1000
MAX_LINE_CHARACTERS = 65_536


class LogShipper:
    """Sends lines of stdout and stderr to the master, and still prints them.

    Lines wait in a bounded queue. When it is full, new lines are dropped, and their number is
    logged. Printing never blocks or fails because of the master.

    Args:
        session: a user's session.
        task_id: the trial's task.
        rank: the rank of this process.
    """

    def __init__(self, session: BaseSession, task_id: str, rank: int) -> None:
        self._session = session
        self._task_id = task_id
        self._rank = rank
        self._lines: Deque[Dict[str, Any]] = deque()
        self._dropped = 0
        self._changed = threading.Condition()
        self._is_closing = False
        self._thread: Optional[threading.Thread] = None
        self._streams: List[_Tee] = []

    def start(self) -> None:
        """Replace stdout and stderr, and start sending."""
        self._streams = [_Tee(self, "stdout"), _Tee(self, "stderr")]
        for stream in self._streams:
            stream.install()
        self._thread = threading.Thread(target=self._run, name="det-logs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Restore stdout and stderr, and send the remaining lines."""
        if self._thread is None:
            return
        for stream in self._streams:
            stream.remove()
        with self._changed:
            self._is_closing = True
            self._changed.notify_all()
        self._thread.join()
        self._thread = None

    def add(self, stdtype: str, text: str) -> None:
        """Queue one line."""
        with self._changed:
            if len(self._lines) >= MAX_LINES:
                self._dropped += 1
                return
            self._lines.append(self._line(stdtype, text[:MAX_LINE_CHARACTERS]))

    def _line(self, stdtype: str, text: str) -> Dict[str, Any]:
        now = datetime.datetime.now(datetime.timezone.utc)
        return {
            "taskId": self._task_id,
            "timestamp": now.isoformat().replace("+00:00", "Z"),
            "rankId": self._rank,
            "stdtype": stdtype,
            "log": text + "\n",
        }

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._is_closing:
                    self._changed.wait(EVERY_S)
                is_last = self._is_closing
            self._send_all()
            if is_last:
                return

    def _send_all(self) -> None:
        while True:
            with self._changed:
                count = min(len(self._lines), BATCH_LINES)
                batch = [self._lines.popleft() for _ in range(count)]
                dropped, self._dropped = self._dropped, 0
            if dropped:
                batch.append(self._line("stderr", f"[{dropped} lines of this log were dropped]"))
            if not batch:
                return
            try:
                self._session.post("/api/v1/task/logs", json={"logs": batch})
            except Exception:
                with self._changed:
                    self._dropped += len(batch)
                return  # printing the error would add it to this queue


class _Tee:
    """Replaces `sys.stdout` or `sys.stderr`: writes through, and ships each line."""

    def __init__(self, shipper: LogShipper, name: str) -> None:
        self._shipper = shipper
        self._name = name
        self._under: Any = getattr(sys, name)
        self._rest = ""
        self._lock = threading.Lock()

    def install(self) -> None:
        setattr(sys, self._name, self)

    def remove(self) -> None:
        """Restore the stream unless it was replaced again; ship the last line."""
        if getattr(sys, self._name) is self:
            setattr(sys, self._name, self._under)
        with self._lock:
            rest, self._rest = self._rest, ""
        if rest:
            self._shipper.add(self._name, rest)

    def write(self, text: str) -> int:
        written = self._under.write(text) if self._under is not None else len(text)
        if not self._shipper._is_closing:
            with self._lock:
                *lines, self._rest = (self._rest + text).split("\n")
            for line in lines:
                self._shipper.add(self._name, line)
        return int(written or 0)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        if self._under is not None:
            self._under.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._under, name)
