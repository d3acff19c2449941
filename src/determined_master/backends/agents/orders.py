"""The numbered stream of orders to one agent, and the waits for their acknowledgement."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from determined_master.ports.agents import NotConnected
from determined_wire.agent_link import Order, StartContainer

_DECODER = msgspec.json.Decoder(Order)


class OrderStream:
    """Orders of this epoch that the agent has not acknowledged yet.

    It outlives sockets: messages that were not acknowledged on a lost socket are sent again on the
    next.
    """

    def __init__(self) -> None:
        self.news = asyncio.Event()
        """Set when there is something to send."""
        self._waiting: deque[tuple[Order, asyncio.Future[None]]] = deque()
        self._last = 0

    def add(self, make: Callable[[int], Order]) -> asyncio.Future[None]:
        """Add an order; `make` builds it with its number. Returns when it is acknowledged.

        Raises:
            msgspec.ValidationError: no agent could read it.
        """
        order = make(self._last + 1)
        _check(order)
        self._last += 1
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append((order, future))
        self.news.set()
        return future

    def acknowledge(self, number: int) -> None:
        """The agent has stored or carried out all orders up to this number."""
        while self._waiting and self._waiting[0][0].number <= number:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)

    def resume(self, number: int) -> None:
        """The agent has carried out all orders up to this number; later ones get higher numbers.

        An agent that was given up and reconnects in the same epoch continues its numbering: it
        takes lower numbers for repetitions.
        """
        self.acknowledge(number)
        self._last = max(self._last, number)

    def after(self, number: int) -> list[Order]:
        """Orders of higher numbers, in order."""
        return [order for order, _ in self._waiting if order.number > number]

    def fail(self, reason: str) -> None:
        """The agent is gone: no message will be acknowledged."""
        while self._waiting:
            _, future = self._waiting.popleft()
            if not future.done():
                future.set_exception(NotConnected(reason))
                future.exception()  # the waiting caller may be gone


def _check(order: Order) -> None:
    """Return if an agent can read the order: configurations of users are parts of it.

    Files are left out: the master makes them, and they may be large.
    """
    if isinstance(order, StartContainer):
        order = replace(order, spec=replace(order.spec, files=()))
    _DECODER.decode(msgspec.json.encode(order))
