"""The state that users are shown: an active run tells what its allocation does."""

from collections.abc import Iterable

from determined_master.domain.states import AllocationState

_SHOWN_AS: dict[AllocationState, str] = {
    "PENDING": "QUEUED",
    "ASSIGNED": "QUEUED",
    "PULLING": "PULLING",
    "STARTING": "STARTING",
    "RUNNING": "RUNNING",
    "WAITING": "QUEUED",
    "TERMINATING": "RUNNING",
    "TERMINATED": "QUEUED",
}
_ORDER = ("RUNNING", "STARTING", "PULLING", "QUEUED")
SHOWN_WHEN_ACTIVE = frozenset(_ORDER)


def shown_state(stored: str, allocations: Iterable[AllocationState]) -> str:
    """The stored state, but for ACTIVE the furthest of what the open allocations do."""
    if stored != "ACTIVE":
        return stored
    shown = {_SHOWN_AS[state] for state in allocations}
    return next((state for state in _ORDER if state in shown), "QUEUED")
