"""Time to save the work of a trial whose pod is evicted.

Kubernetes signals every program of a pod that it ends. Only the master knows whether the trial was
asked to save its work, or is to be killed.
"""

from __future__ import annotations

import time
from typing import Mapping

from determined.common.api import errors
from determined.common.api._task_session import TaskSession
from determined.exec._log import log

ANSWER_S = 3
"""How long the master may take to see the eviction."""


def seconds(session: TaskSession, env: Mapping[str, str]) -> float:
    """How long the signal to the program waits: 0 unless the master has preempted the trial."""
    limit = env.get("DET_EVICTION_SAVE_S", "")
    if not limit.isdigit():
        return 0.0
    since = time.monotonic()
    path = f"/api/v1/allocations/{env['DET_ALLOCATION_ID']}/signals/preemption"
    try:
        answer = session.with_retry(0).get(
            path, params={"timeoutSeconds": ANSWER_S}, timeout=ANSWER_S + 2
        )
        is_preempted = bool(answer.json().get("preempt"))
    except (errors.APIException, OSError, ValueError):
        return 0.0
    left = int(limit) - (time.monotonic() - since)
    if not is_preempted or left <= 0:
        return 0.0
    log(f"this pod is evicted: the trial has {left:.0f} s to save its work", "WARNING")
    return left
