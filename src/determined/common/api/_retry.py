"""Retry policies: when to retry a call, and after which delay."""

from __future__ import annotations

import json
import threading
import time
from typing import Any, Callable, FrozenSet, Mapping, NamedTuple, Optional, Union

from determined.common import _task_notice
from determined.common._backoff import Backoff

IDEMPOTENT = frozenset(("GET", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH"))


LATE_S = 10.0
"""The delay after which a command reports that it still waits."""


class RetryPolicy(NamedTuple):
    """How often and how long to retry a call.

    A refused connection is always retried, since the master received nothing. A lost response, or
    a status in `statuses`, is retried for idempotent methods, and with `all_methods` for all.
    """

    total: int = 5
    backoff_s: float = 0.5
    backoff_max_s: float = 30.0
    deadline_s: Optional[float] = None
    """Stop retrying this long after the first failure, whatever `total` is."""
    all_methods: bool = False
    statuses: FrozenSet[int] = frozenset((502, 503, 504))
    away_for_s: float = 0.0
    """How long to retry a status in `statuses` beyond `total`: a master returns one while its
    database restarts."""
    internal_for_s: float = 0.0
    """How long to retry status 500, which a master may return when it loses its database."""
    outlasts_gateways: bool = False
    """Whether a 404 that is not JSON counts as 503: it comes from a gateway, such as an ingress
    that has no route to a master while that restarts."""
    tell_late: Optional[Callable[[str], None]] = None
    """Called with the master's address when a response takes longer than `LATE_S`."""
    tell_away: Optional[Callable[[str, Optional[float]], None]] = None
    """Called once in a call, when it has failed for `LATE_S` and is repeated, with the reason and
    the seconds until its deadline."""

    def delay_s(self, attempt: int) -> float:
        """The delay before attempt `attempt` + 1; 0.1 s before the first retry."""
        if attempt <= 1:
            return min(0.1, self.backoff_s)
        return Backoff(self.backoff_s, self.backoff_max_s).after(attempt - 1)

    def covers(self, method: str) -> bool:
        """Whether to retry this method after a lost response."""
        return self.all_methods or method.upper() in IDEMPOTENT


def print_away(text: str, left_s: Optional[float]) -> None:
    """Write a line to the task's log, which reaches the master by way of the agent.

    Calls that fail at the same time write one line; each outage has its own.
    """
    global _is_away
    with _lock:
        was_away, _is_away = _is_away, True
    until = "again"
    if left_s is not None:
        until = time.strftime("until %H:%M:%S UTC", time.gmtime(time.time() + left_s))
    if not was_away:
        _task_notice.write(_task_notice.MASTER_AWAY, f"{text}; trying {until}")


def note_answer() -> None:
    """The master has answered: a logged outage is over, and the next one has its own line."""
    global _is_away
    if not _is_away:
        return
    with _lock:
        was_away, _is_away = _is_away, False
    if was_away:
        _task_notice.write(_task_notice.MASTER_BACK, "the master answers again", "INFO")


_lock = threading.Lock()
_is_away = False

DEFAULT = RetryPolicy()
TASK = RetryPolicy(
    total=1_000_000,
    backoff_max_s=5.0,
    deadline_s=1800.0,
    all_methods=True,
    internal_for_s=60.0,
    outlasts_gateways=True,
    tell_away=print_away,
)
"""Inside a task every call is idempotent, and the master may be unavailable for a while."""
NONE = RetryPolicy(total=0)


def policy_of(value: Union[RetryPolicy, int, Any, None]) -> RetryPolicy:
    """The policy for `max_retries`: a RetryPolicy, a number, None, or urllib3's Retry."""
    if isinstance(value, RetryPolicy):
        return value
    if value is None:
        return NONE
    if isinstance(value, int):
        return RetryPolicy(total=value)
    allowed = getattr(value, "allowed_methods", ())
    return RetryPolicy(
        total=int(value.total or 0),
        backoff_s=float(value.backoff_factor),
        all_methods=allowed in (None, False) or "POST" in (allowed or ()),
        statuses=frozenset(value.status_forcelist or DEFAULT.statuses),
    )


def task_policy(env: Mapping[str, str]) -> RetryPolicy:
    """The policy inside a task. DET_RETRY_CONFIG (JSON with urllib3's names) overrides it.

    Raises:
        ValueError: DET_RETRY_CONFIG is not a JSON object.
    """
    text = env.get("DET_RETRY_CONFIG")
    if not text:
        return TASK
    config = json.loads(text)
    if not isinstance(config, dict):
        raise ValueError(f"DET_RETRY_CONFIG must be a JSON object, got {text!r}")
    return TASK._replace(
        total=int(config.get("total", TASK.total)),
        backoff_s=float(config.get("backoff_factor", TASK.backoff_s)),
        backoff_max_s=float(config.get("backoff_max", TASK.backoff_max_s)),
        deadline_s=None if "total" in config else TASK.deadline_s,
        statuses=frozenset(config.get("status_forcelist", TASK.statuses)),
    )
