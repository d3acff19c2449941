"""Idle detection of a notebook, from its server's API.

Source: task-contract 7.2.
"""

from __future__ import annotations

import http.client
import json
import ssl
import threading
from typing import Any, List, Mapping, NamedTuple, Optional, Tuple

from determined.common.api import errors
from determined.common.api._session import BaseSession
from determined.exec._log import EntryFailed, log

CHECK_S = 30.0
ANSWER_S = 10.0
TYPES = ("kernels_or_terminals", "kernel_connections", "activity")


class Activity(NamedTuple):
    """The objects that the server's API lists."""

    kernels: List[Mapping[str, Any]]
    terminals: List[Mapping[str, Any]]
    sessions: List[Mapping[str, Any]]


class NotebookServer:
    """A client of this task's notebook server.

    Args:
        port: the server's port.
        base: the prefix of all paths, without a trailing slash.
        token: the server's token.
    """

    def __init__(self, port: int, base: str, token: str) -> None:
        self._port = port
        self._base = base
        self._token = token
        # A local server with a known port and token; its certificate is not verified.
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    def is_up(self) -> bool:
        """Whether the server responds."""
        try:
            return self._get("/api")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def activity(self) -> Activity:
        """The open kernels, terminals and sessions.

        Raises:
            OSError: the server does not respond, or not with lists.
        """
        return Activity(*(self._list(f"/api/{n}") for n in ("kernels", "terminals", "sessions")))

    def _list(self, path: str) -> List[Mapping[str, Any]]:
        try:
            status, body = self._get(path)
            if status == 404 and path == "/api/terminals":
                return []  # a server without terminals
            if status != 200:
                raise OSError(f"{path} returned status {status}")
            found = json.loads(body)
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"{path} returned no JSON: {error}") from error
        if not isinstance(found, list):
            raise OSError(f"{path} did not return a list")
        return found

    def _get(self, path: str) -> Tuple[int, bytes]:
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self._port, timeout=ANSWER_S, context=self._tls
        )
        try:
            connection.request(
                "GET", self._base + path, headers={"Authorization": f"token {self._token}"}
            )
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()


class IdleCheck:
    """Decides from consecutive samples whether a server is idle.

    Args:
        kind: one of `TYPES`.

    Raises:
        EntryFailed: the kind does not exist.
    """

    def __init__(self, kind: str) -> None:
        if kind not in TYPES:
            raise EntryFailed(f"NOTEBOOK_IDLE_TYPE {kind!r} must be one of {', '.join(TYPES)}", 2)
        self._kind = kind
        self._last: Optional[str] = None

    def is_idle(self, seen: Activity) -> bool:
        """Whether the server is idle: by open objects, connections, or recent activity."""
        if self._kind == "kernels_or_terminals":
            return not (seen.kernels or seen.terminals or seen.sessions)
        if self._kind == "kernel_connections":
            return not any(kernel.get("connections") for kernel in seen.kernels)
        stamps = [str(i.get("last_activity") or "") for i in (*seen.kernels, *seen.terminals)]
        latest = max(stamps, default="")
        has_changed, self._last = latest != self._last, latest
        is_busy = any(kernel.get("execution_state") == "busy" for kernel in seen.kernels)
        return not (is_busy or has_changed)


def watch(
    server: NotebookServer,
    check: IdleCheck,
    report: IdleReports,
    ended: threading.Event,
) -> None:
    """Check every `CHECK_S` seconds and report to the master, until the server has ended.

    A server that does not respond counts as busy.
    """
    while not ended.wait(CHECK_S):
        try:
            is_idle = check.is_idle(server.activity())
        except OSError as error:
            if ended.is_set():
                return
            log(f"the idle check failed: {error}", "WARNING")
            is_idle = False
        report(is_idle)


class IdleReports:
    """Reports to the master whether a notebook is idle. Failures are logged, not retried."""

    def __init__(self, session: BaseSession, task_id: str) -> None:
        self._session = session.with_retry(0)
        self._task_id = task_id

    def __call__(self, is_idle: bool) -> None:
        path = f"/api/v1/notebooks/{self._task_id}/report_idle"
        try:
            self._session.put(path, json={"notebookId": self._task_id, "idle": is_idle})
        except (errors.BadRequestException, errors.BadResponseException) as error:
            log(f"the idle state could not be reported: {error}", "WARNING")
