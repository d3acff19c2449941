"""The session of a task, which ends the process when the task's token is no longer valid."""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import Any, Dict, Mapping, Optional, Tuple

from determined.common.api import _retry
from determined.common.api._session import BaseSession, Retries
from determined.common.api._transport import Response
from determined.common.api.certs import Cert, cert_of_environment

TOKEN_DIED = 83
"""Exit code of a task whose token the master no longer accepts (docs/exit-codes.md)."""
ASK_AGAIN_AFTER_S = 1.0

_log_lock = threading.Lock()
_has_logged = False


class TaskSession(BaseSession):
    """A session with the token of this task's allocation (DET_SESSION_TOKEN).

    The token is valid until the allocation ends. If the master refuses it (401 on any route, 403
    on a route of the task), the call is repeated once. If it is refused again, the process logs
    one line to stderr and exits with code 83: its slots may already belong to another task,
    and the master would refuse its reports.

    Args:
        own: prefixes of the paths that belong to the task.
    """

    def __init__(
        self,
        master: str,
        token: str,
        cert: Optional[Cert] = None,
        max_retries: Retries = _retry.TASK,
        own: Tuple[str, ...] = (),
    ) -> None:
        super().__init__(master, cert, max_retries)
        self.token = token
        self._own = own

    @classmethod
    def from_environment(cls, env: Mapping[str, str]) -> TaskSession:
        """The session from a task's environment variables.

        Raises:
            KeyError: DET_MASTER or DET_SESSION_TOKEN is not set.
            ValueError: DET_RETRY_CONFIG or DET_MASTER is invalid.
        """
        own = tuple(
            f"/api/v1/{kind}/{env[name]}/"
            for kind, name in (
                ("allocations", "DET_ALLOCATION_ID"),
                ("tasks", "DET_TASK_ID"),
                ("trials", "DET_TRIAL_ID"),
                ("runs", "DET_TRIAL_ID"),
            )
            if env.get(name)
        )
        return cls(
            env["DET_MASTER"],
            env["DET_SESSION_TOKEN"],
            cert_of_environment(env),
            _retry.task_policy(env),
            own,
        )

    def _auth_headers(self) -> Dict[str, str]:
        return {"Grpc-Metadata-x-allocation-token": f"Bearer {self.token}"}

    def _check(self, response: Response, request: Tuple[Any, ...]) -> Response:
        if self._is_refused(response, request[1]):
            time.sleep(ASK_AGAIN_AFTER_S)
            response = self._send(*request)
            if self._is_refused(response, request[1]):
                end_for_dead_token(f"{request[0]} {request[1]}", response.status_code)
        return super()._check(response, request)

    def _is_refused(self, response: Response, target: str) -> bool:
        if response.status_code == 401:
            return True
        return response.status_code == 403 and target.startswith(self._own or ("\0",))


def end_for_dead_token(call: str, status: int) -> None:
    """Log once that the token is no longer valid, and exit with code 83.

    Exits without cleanup, since cleanup could only call the master again.
    """
    global _has_logged
    with _log_lock:
        if not _has_logged:
            _has_logged = True
            sys.stdout.flush()
            sys.stderr.write(
                f"ERROR: [{os.getpid()}] determined: the master no longer accepts this task's "
                f"token (status {status} on {call}, tried twice): its allocation has ended. "
                f"Exiting with code {TOKEN_DIED}.\n"
            )
            sys.stderr.flush()
        os._exit(TOKEN_DIED)
