"""Heartbeats of a trial that runs outside the cluster."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Optional

from determined.common.api import errors

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession

logger = logging.getLogger("determined.core")

EVERY_S = 60.0
AFTER_ERROR_S = 10.0


class _Heartbeat:
    """Sends a heartbeat every minute, and at the end the final state of the trial.

    The master marks a trial as failed after five minutes without a heartbeat.
    """

    def __init__(self, session: BaseSession, trial_id: int) -> None:
        self._session = session
        self._trial_id = trial_id
        self._stop = threading.Event()
        self._thread: Optional[threading.Thread] = None

    def start(self) -> None:
        """Report that the trial runs, and start the heartbeats."""
        self._patch_state("STATE_RUNNING")
        self._thread = threading.Thread(target=self._run, name="det-heartbeat", daemon=True)
        self._thread.start()

    def close(self, failed: bool = False) -> None:
        """Stop the heartbeats, and report the final state."""
        if self._thread is None:
            return
        self._stop.set()
        self._thread.join()
        self._thread = None
        try:
            self._patch_state("STATE_ERROR" if failed else "STATE_COMPLETED")
        except errors.APIException as error:
            if error.status_code != 400:
                raise
            logger.warning("the master has already ended this trial: %s", error.message)

    def _run(self) -> None:
        wait_s = EVERY_S
        while not self._stop.wait(wait_s):
            try:
                self._patch_state(None)
                wait_s = EVERY_S
            except Exception:
                wait_s = AFTER_ERROR_S

    def _patch_state(self, state: Optional[str]) -> None:
        body = {"trialId": self._trial_id, **({"state": state} if state else {})}
        self._session.patch(f"/api/v1/trials/{self._trial_id}", json=body)
