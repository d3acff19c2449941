"""Changes of aggregates, published in memory after their commit."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic

from determined_master.engine.applying.batch import Subject
from determined_master.engine.kind import Id, Kind, S

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Changed(Generic[S]):
    """An aggregate has a new version."""

    kind: str
    id: str
    version: int
    state: S


Listener = Callable[[Changed[S]], None]


class Feed:
    """Notifies listeners in the order of each aggregate's versions."""

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, str | None], list[Listener[Any]]] = {}

    def listen(
        self, kind: Kind[Id, S, Any, Any], listener: Listener[S], *, id: Id | None = None
    ) -> Callable[[], None]:
        """Call `listener`, which must not block, for each change of a kind or of one aggregate.

        Returns:
            A function that removes the listener.
        """
        key = (kind.name, None if id is None else str(id))
        self._listeners.setdefault(key, []).append(listener)

        def stop() -> None:
            listeners = self._listeners[key]
            listeners.remove(listener)
            if not listeners:
                del self._listeners[key]

        return stop

    def publish(self, subjects: Iterable[Subject]) -> None:
        """Publish a committed transaction."""
        if not self._listeners:
            return
        for subject in subjects:
            changed = Changed(subject.kind.name, subject.id, subject.version, subject.state)
            for of in (None, subject.id):
                for listener in tuple(self._listeners.get((subject.kind.name, of), ())):
                    try:
                        listener(changed)
                    except Exception:
                        _log.exception("a listener of the change feed failed")
