"""Operations of GCP that are not done yet."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from determined_master.backends.gcp.compute import Compute, ComputeRefused, problems, warnings
from determined_master.ports.machines import ProviderFailed

log = logging.getLogger(__name__)
MAX_A_ROUND = 50
"""Most operations that are queried at once."""


class _Followed(NamedTuple):
    compute: Compute
    name: str
    act: str
    since: datetime


class Operations:
    """The operations of one provider. Calls block, and never overlap."""

    def __init__(self, timeout: timedelta, now: Callable[[], datetime]) -> None:
        """`timeout` is how long each is followed."""
        self._timeout = timeout
        self._now = now
        self._followed: list[_Followed] = []

    def follow(self, compute: Compute, operation: Mapping[str, Any], act: str) -> None:
        """Follow one of a zone from now on; `act` describes it in the log."""
        if operation.get("status") == "DONE":
            log_outcome(operation, act)
        else:
            name = str(operation["name"])
            self._followed.append(_Followed(compute, name, act, self._now()))

    def look(self) -> None:
        """Query open operations, and log the results of those that have ended."""
        asked, later = self._followed[:MAX_A_ROUND], self._followed[MAX_A_ROUND:]
        still = [one for one in asked if self._is_open(one)]
        if len(still) < len(asked):
            log.info("of %d operations of GCP %d are done", len(asked), len(asked) - len(still))
        self._followed = [*later, *still]

    def _is_open(self, one: _Followed) -> bool:
        try:
            operation = one.compute.operation(one.name)
        except (ComputeRefused, ProviderFailed) as error:
            log.warning("%s at GCP: its outcome is unknown: %s", one.act, error)
            return False
        if operation.get("status") == "DONE" or problems(operation):
            log_outcome(operation, one.act)
            return False
        if self._now() - one.since < self._timeout:
            return True
        log.warning(
            "%s at GCP is not done after %g s (operation_timeout_period), and is not followed "
            "any more",
            one.act,
            self._timeout.total_seconds(),
        )
        return False


def log_outcome(operation: Mapping[str, Any], act: str) -> None:
    """Log the warnings of an ended operation."""
    for text in problems(operation):
        log.error("%s at GCP failed: %s", act, text)
    for text in warnings(operation):
        log.warning("%s at GCP: %s", act, text)
