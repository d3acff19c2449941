"""Preemption: checks whether the trial should save a checkpoint and exit."""

from __future__ import annotations

import enum
import logging
import threading
from typing import TYPE_CHECKING, Optional

from determined.core._modes import choice

if TYPE_CHECKING:
    from determined.common.api._session import BaseSession
    from determined.core._distributed import DistributedContext

POLL_S = 60
RETRY_S = 5.0
FIRST_ANSWER_S = 15.0
"""Longer than the first poll can take, including its timeout."""

logger = logging.getLogger("determined.core")


class PreemptMode(enum.Enum):
    """Which ranks check for preemption, and how.

    WorkersAskChief: all ranks call together and get the chief's result. ChiefOnly: only the
    chief may call. WorkersAskMaster: every rank polls the master, and results may differ.
    """

    WorkersAskChief = "WORKERS_ASK_CHIEF"
    ChiefOnly = "CHIEF_ONLY"
    WorkersAskMaster = "WORKERS_ASK_MASTER"


class PreemptContext:
    """Polls the master in the background for the preemption of this allocation.

    Args:
        session: the task's session.
        allocation_id: the allocation.
        dist: the trial's ranks.
        preempt_mode: which ranks poll.

    Raises:
        ValueError: the mode does not exist.
    """

    def __init__(
        self,
        session: BaseSession,
        allocation_id: str,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        self._session = session
        self._allocation_id = allocation_id
        self._dist = dist
        self._preempt_mode = choice(PreemptMode, preempt_mode, "preempt_mode")
        self._watcher: Optional[_Watcher] = None
        self._last_answer: Optional[bool] = None
        self._has_acknowledged = False

    def start(self) -> PreemptContext:
        """Start polling, on the ranks that poll in this mode."""
        asks = self._dist.rank == 0 or self._preempt_mode is PreemptMode.WorkersAskMaster
        if asks and self._watcher is None:
            self._watcher = _Watcher(self._session, self._allocation_id)
            self._watcher.start()
        return self

    def close(self) -> None:
        """Stop polling; `should_preempt` keeps returning the last result."""
        if self._watcher is not None:
            self._last_answer = self._watcher.is_preempted.is_set()
            self._watcher.close()
            self._watcher = None

    def __enter__(self) -> PreemptContext:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.close()

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """Whether to save a checkpoint now and exit with code 0.

        The first call waits for the first response of the master; later calls do not block.

        Args:
            auto_ack: acknowledge the first True, which promises to exit. If false, call
                `acknowledge_preemption_signal` once the exit is certain.

        Raises:
            RuntimeError: the context is not started, or this rank may not call in its mode.
        """
        if self._preempt_mode is PreemptMode.WorkersAskChief:
            answer = self._ask(auto_ack) if self._dist.rank == 0 else None
            return bool(self._dist.broadcast(answer))
        if self._preempt_mode is PreemptMode.ChiefOnly and self._dist.rank > 0:
            raise RuntimeError("only the chief may call should_preempt in PreemptMode.ChiefOnly")
        return self._ask(auto_ack)

    def acknowledge_preemption_signal(self) -> None:
        """Promise to save and exit; the trial is then resumed later, whatever its exit code."""
        self._session.post(
            f"/api/v1/allocations/{self._allocation_id}/signals/ack_preemption",
            json={"allocationId": self._allocation_id},
        )

    def _ask(self, auto_ack: bool) -> bool:
        if self._watcher is None and self._last_answer is None:
            raise RuntimeError("the context is not started: use it in a with block")
        answer = bool(self._last_answer) if self._watcher is None else self._watcher.answer()
        if answer and auto_ack and not self._has_acknowledged:
            self._has_acknowledged = True
            self.acknowledge_preemption_signal()
        return answer


class DummyPreemptContext(PreemptContext):
    """Never reports a preemption."""

    def __init__(
        self,
        dist: DistributedContext,
        preempt_mode: PreemptMode = PreemptMode.WorkersAskChief,
    ) -> None:
        self._dist = dist
        self._preempt_mode = choice(PreemptMode, preempt_mode, "preempt_mode")

    def start(self) -> PreemptContext:
        """Do nothing."""
        return self

    def close(self) -> None:
        """Do nothing."""

    def should_preempt(self, auto_ack: bool = True) -> bool:
        """False.

        Raises:
            RuntimeError: this rank may not call in its mode.
        """
        if self._preempt_mode is PreemptMode.ChiefOnly and self._dist.rank > 0:
            raise RuntimeError("only the chief may call should_preempt in PreemptMode.ChiefOnly")
        return False

    def acknowledge_preemption_signal(self) -> None:
        """Do nothing."""


class _Watcher:
    """A thread that long-polls the master over its own connections."""

    def __init__(self, session: BaseSession, allocation_id: str) -> None:
        self._session = session.with_retry(0)
        self._path = f"/api/v1/allocations/{allocation_id}/signals/preemption"
        self.is_preempted = threading.Event()
        self._has_polled = threading.Event()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="det-preempt", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def answer(self) -> bool:
        """The last result. The first call waits, so a pending preemption is seen at once."""
        self._has_polled.wait(FIRST_ANSWER_S)
        return self.is_preempted.is_set()

    def close(self) -> None:
        self._closed.set()
        self._session.close()  # ends the pending poll
        self._thread.join(timeout=5)

    def _run(self) -> None:
        wait_s = 0
        while not self._closed.is_set() and not self.is_preempted.is_set():
            try:
                answer = self._session.get(
                    self._path, params={"timeoutSeconds": wait_s}, timeout=wait_s + 10
                )
                if (answer.json() or {}).get("preempt"):
                    self.is_preempted.set()
                wait_s = POLL_S
                self._has_polled.set()
            except Exception as error:
                self._has_polled.set()
                if not self._closed.is_set():
                    logger.debug("preemption poll failed; retrying: %s", error)
                self._closed.wait(RETRY_S)
