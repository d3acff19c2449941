"""Where journal and load go: what the targets of all clouds share.

A batch is repeated until the cloud takes it. Metrics are not, since newer ones follow.
"""

from __future__ import annotations

import abc
import logging
from collections.abc import Sequence
from typing import ClassVar

from determined_agent.journal.batches import Entry, Limits
from determined_agent.journal.ending import Ending
from determined_agent.journal.load import Metric
from determined_wire.backoff import Backoff

log = logging.getLogger(__name__)

BACKOFF = Backoff(1.0, 60.0)


class CannotStart(Exception):
    """The target cannot be used on this machine; the text names the remedy."""


class NotSent(Exception):
    """The cloud does not answer, or refuses for now; the text has its reason."""


class NotTaken(Exception):
    """The cloud never takes these entries; the text has its reason."""


class Target(abc.ABC):
    """One cloud's log, and the metrics of one machine."""

    name: ClassVar[str]
    limits: ClassVar[Limits]

    def __init__(self, ending: Ending) -> None:
        """`ending`: set once the service ends; nothing is repeated after that."""
        self._ending = ending
        self._failure = ""

    def send(self, batch: Sequence[Entry]) -> bool:
        """Send a batch, in the order of time; whether it was taken before the service ended."""
        pauses = BACKOFF.pauses()
        while not self._try(batch):
            if self._ending.wait(next(pauses)):
                return False
        return True

    def put(self, metrics: Sequence[Metric]) -> None:
        """Send metrics; those that cannot be sent are dropped."""
        try:
            self._put_once(metrics)
        except (NotSent, NotTaken) as error:
            log.warning("metrics are not sent: %s", error)

    def _try(self, batch: Sequence[Entry]) -> bool:
        try:
            self._send_once(batch)
        except NotTaken as error:
            log.error("%s does not take entries, which are lost: %s", self.name, error)
        except NotSent as error:
            if str(error) != self._failure:  # once for each reason
                log.warning("the journal is not sent, and is repeated: %s", error)
            self._failure = str(error)
            return False
        self._failure = ""
        return True

    @abc.abstractmethod
    def _send_once(self, batch: Sequence[Entry]) -> None:
        """Send a batch. Raises NotSent and NotTaken."""

    @abc.abstractmethod
    def _put_once(self, metrics: Sequence[Metric]) -> None:
        """Send metrics. Raises NotSent and NotTaken."""
