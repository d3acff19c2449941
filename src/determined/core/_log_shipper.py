"""What a detached program prints, on its way to its trial's log."""

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
    """Sends lines of stdout and stderr to the master; they are still printed.

    Lines wait in a bounded queue: while the master is away the newest are dropped, and how many
    is told. Printing never waits and never fails for it.

    Args:
        session: of a user.
        task_id: the trial's task.
        rank: of this process.
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
        """Listen to what is printed, and begin to send."""
        self._streams = [_Tee(self, "stdout"), _Tee(self, "stderr")]
        for stream in self._streams:
            stream.install()
        self._thread = threading.Thread(target=self._run, name="det-logs", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening, and send what is left."""
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
        """Take one line."""
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
                return  # what cannot be sent must not be printed: it would come here again


class _Tee:
    """Stands for `sys.stdout` or `sys.stderr`: writes through, and passes lines on."""

    def __init__(self, shipper: LogShipper, name: str) -> None:
        self._shipper = shipper
        self._name = name
        self._under: Any = getattr(sys, name)
        self._rest = ""
        self._lock = threading.Lock()

    def install(self) -> None:
        setattr(sys, self._name, self)

    def remove(self) -> None:
        """Put the stream back, unless somebody else stands there now; pass on the last line."""
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
