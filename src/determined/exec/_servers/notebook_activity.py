"""Whether anybody uses a notebook, as its own server sees it.

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
    """What a server says of itself: lists of its API's objects."""

    kernels: List[Mapping[str, Any]]
    terminals: List[Mapping[str, Any]]
    sessions: List[Mapping[str, Any]]


class NotebookServer:
    """The server of this task, on this machine.

    Args:
        port: where it listens.
        base: the path that all of its paths begin with, without a slash at the end.
        token: its own.
    """

    def __init__(self, port: int, base: str, token: str) -> None:
        self._port = port
        self._base = base
        self._token = token
        # It is this machine's own, known by its port and token; its name is the proxy's affair.
        self._tls = ssl.create_default_context()
        self._tls.check_hostname = False
        self._tls.verify_mode = ssl.CERT_NONE

    def is_up(self) -> bool:
        """Whether it answers."""
        try:
            return self._get("/api")[0] == 200
        except (OSError, http.client.HTTPException):
            return False

    def activity(self) -> Activity:
        """What goes on in it.

        Raises:
            OSError: it does not answer, or not with lists.
        """
        return Activity(*(self._list(f"/api/{n}") for n in ("kernels", "terminals", "sessions")))

    def _list(self, path: str) -> List[Mapping[str, Any]]:
        try:
            status, body = self._get(path)
            if status == 404 and path == "/api/terminals":
                return []  # a server without terminals
            if status != 200:
                raise OSError(f"{path} answered {status}")
            found = json.loads(body)
        except (http.client.HTTPException, ValueError) as error:
            raise OSError(f"{path} did not answer in JSON: {error}") from error
        if not isinstance(found, list):
            raise OSError(f"{path} answered no list")
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
    """Tells from one look to the next whether a server is idle.

    Args:
        kind: one of `TYPES`.

    Raises:
        EntryFailed: it is none of them.
    """

    def __init__(self, kind: str) -> None:
        if kind not in TYPES:
            raise EntryFailed(f"NOTEBOOK_IDLE_TYPE {kind!r} is none of {', '.join(TYPES)}", 2)
        self._kind = kind
        self._last: Optional[str] = None

    def is_idle(self, seen: Activity) -> bool:
        """Whether nobody uses it: by what is open, who is connected, or what has moved."""
        if self._kind == "kernels_or_terminals":
            return not (seen.kernels or seen.terminals or seen.sessions)
        if self._kind == "kernel_connections":
            return not any(kernel.get("connections") for kernel in seen.kernels)
        stamps = [str(i.get("last_activity") or "") for i in (*seen.kernels, *seen.terminals)]
        latest = max(stamps, default="")
        has_moved, self._last = latest != self._last, latest
        is_busy = any(kernel.get("execution_state") == "busy" for kernel in seen.kernels)
        return not (is_busy or has_moved)


def watch(
    server: NotebookServer,
    check: IdleCheck,
    tell: IdleReports,
    ended: threading.Event,
) -> None:
    """Look every `CHECK_S`, and tell the master, until the server is ended.

    A server that does not answer is not idle: it is busy, or ends.
    """
    while not ended.wait(CHECK_S):
        try:
            is_idle = check.is_idle(server.activity())
        except OSError as error:
            if ended.is_set():
                return
            log(f"whether the notebook is idle cannot be seen: {error}", "WARNING")
            is_idle = False
        tell(is_idle)


class IdleReports:
    """Tells the master whether a notebook is idle; a failure is noted, the next one comes soon."""

    def __init__(self, session: BaseSession, task_id: str) -> None:
        self._session = session.with_retry(0)
        self._task_id = task_id

    def __call__(self, is_idle: bool) -> None:
        path = f"/api/v1/notebooks/{self._task_id}/report_idle"
        try:
            self._session.put(path, json={"notebookId": self._task_id, "idle": is_idle})
        except (errors.BadRequestException, errors.BadResponseException) as error:
            log(f"that the notebook is used could not be reported: {error}", "WARNING")
