"""Which kinds of objects of a cluster are known, and since when its API server does not answer."""

from __future__ import annotations

import logging

from determined_master import clock
from determined_master.backends.kubernetes.watches.watch import WatchLost
from determined_master.ports.kubernetes import ClusterTrouble

log = logging.getLogger(__name__)

NEEDED = frozenset({"nodes", "pods", "foreign pods"})
"""Nothing is planned while one of them is not known."""


class ClusterReach:
    """The reach of one cluster while its master leads."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._listed: set[str] = set()
        """The kinds of objects of `NEEDED` that are known to match the cluster."""
        self._unknown: set[str] = set()
        """Kinds of objects that the master plans without, and has said so."""
        self.outage: ClusterTrouble | None = None

    @property
    def is_whole(self) -> bool:
        """Whether all needed objects are known."""
        return self._listed == NEEDED

    def begin(self) -> None:
        """Nothing is known yet."""
        self._listed.clear()
        self.note_outage("it has not answered yet")

    def is_listed(self, what: str) -> bool:
        """Whether the objects of a needed kind are known."""
        return what in self._listed

    def note_listed(self, what: str) -> None:
        """The objects of a needed kind are known."""
        self._listed.add(what)

    def note_lost(self, what: str, reason: str) -> None:
        """The objects of a needed kind are not followed any more."""
        self.note_outage(reason)
        self._listed.discard(what)

    def note_outage(self, reason: str) -> None:
        """Since when it lasts stays, and the last reason."""
        since = clock.now() if self.outage is None else self.outage.since
        text = f"the API server of {self._cluster} does not answer"
        self.outage = ClusterTrouble(text, since, reason)

    def note_reached(self) -> None:
        """The API server answers."""
        self.outage = None

    def note_known(self, what: str) -> None:
        """The objects of a kind that may be unknown are known."""
        self._unknown.discard(what)

    def note_unknown(self, what: str, text: str, lost: WatchLost, *, is_reachable: bool) -> None:
        """Log once that objects of a kind are unknown; nothing while the cluster is away."""
        if what not in self._unknown and (is_reachable or lost.is_forbidden):
            self._unknown.add(what)
            log.warning("%s %s: %s", what, text, lost.reason)
