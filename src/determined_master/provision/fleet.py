"""The machines of one pool: each launch order takes effect once, even if the master dies.

An order is stored before the provider gets it, and deleted once its answer is stored. A master
that finds an order without an answer repeats it with the same token, which starts nothing twice.
Machines to end are also stored before the provider is asked to end them. Only the current epoch
may write: a master that has lost leadership fails to write, and sends no order.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

from msgspec.structs import replace

from determined_master import clock, entropy
from determined_master.ports.machines import LaunchFailed, ProviderFailed
from determined_master.store.cluster.machines import LaunchOrder

if TYPE_CHECKING:
    from determined_master.domain.machines.scaling import Machine
    from determined_master.domain.machines.starts import MachineStart
    from determined_master.ports.machines import MachineProvider
    from determined_master.provision.records import MachineRecords

log = logging.getLogger(__name__)
T = TypeVar("T")
CALL_S = 90.0
"""A provider's call that takes longer has failed."""
LISTING_LAG = timedelta(minutes=1)
"""How long a new machine may be missing from the list."""
ORDER_LIFE = timedelta(minutes=10)
"""After that the list has every machine of an order."""
UNSEEN_HOLD = timedelta(minutes=10)
"""How long a machine that was started and never listed counts as a machine."""
NOTE_EVERY = timedelta(seconds=30)
ACTIVE = ("starting", "running")


class Fleet:
    """One provider, and the rows about its machines."""

    def __init__(self, pool: str, provider: MachineProvider, records: MachineRecords) -> None:
        self._pool = pool
        self._provider = provider
        self._records = records
        self._orders: list[LaunchOrder] = []
        self._new: dict[str, tuple[Machine, datetime]] = {}
        """Launched and not listed yet, with the launch time."""
        self._recalled: frozenset[str] = frozenset()
        """The machines of `_new` that an earlier leader has seen."""
        self._unseen: dict[str, datetime] = {}
        """Launched and never listed, with the time when they were given up."""
        self._leaving: dict[str, Machine] = {}
        self._idle_since: dict[str, datetime] = {}
        """As stored."""
        self._listed: tuple[Machine, ...] = ()
        self.starts: Mapping[str, MachineStart] = {}
        """The last report of each machine's start script at the last `look`, by machine."""
        self._noted: tuple[tuple[Machine, ...], datetime] | None = None

    @property
    def is_settled(self) -> bool:
        """Whether the answer to every order is known."""
        return not self._orders

    @property
    def leaving(self) -> Mapping[str, Machine]:
        """Machines whose end was requested and that are still listed, by id."""
        return self._leaving

    @property
    def idle_since(self) -> Mapping[str, datetime]:
        """The stored start of each machine's idle time, by id."""
        return self._idle_since

    @property
    def held(self) -> int:
        """How many machines may exist besides those that `look` reports as active.

        The provider has not begun to end them, or has started them and never listed them.
        """
        return len(self._still_there()) + len(self._unseen)

    @property
    def unseen(self) -> frozenset[str]:
        """Ids of machines that were started in the last minutes and never listed."""
        return frozenset(self._unseen)

    def machines(self) -> list[Machine]:
        """The machines of the last `look`; those whose end was requested are `terminating`."""
        machines = (*self._listed, *(machine for machine, _ in self._new.values()))
        return [
            replace(m, state="terminating") if m.id in self._leaving and m.state in ACTIVE else m
            for m in machines
        ]

    def _still_there(self) -> list[str]:
        return [m.id for m in self._listed if m.id in self._leaving and m.state in ACTIVE]

    async def take_over(self, epoch: int) -> None:
        """Load the rows of earlier leaders; from now on only this leader writes.

        Raises database errors.
        """
        self._records.take_over(epoch)
        stays = await self._records.stays()
        self._leaving = {s.machine.id: s.machine for s in stays if s.is_leaving}
        self._new = {s.machine.id: (s.machine, s.seen_at) for s in stays if not s.is_leaving}
        self._recalled, self._unseen = frozenset(self._new), {}
        self._noted = None  # other masters may have written since
        self._idle_since = {s.machine.id: s.idle_since for s in stays if s.idle_since is not None}

    async def begin(self) -> None:
        """After `take_over`: open the provider, and load the orders without an answer.

        Raises ProviderFailed and database errors.
        """
        await _in_time(self._provider.open())
        now = clock.now()
        self._orders = []
        for order in await self._records.orders():
            if now - order.asked_at <= ORDER_LIFE:
                self._orders.append(order)
            else:
                await self._records.settle(order)

    async def look(self) -> list[Machine]:
        """All machines now; machines whose end was requested are `terminating`.

        Raises ProviderFailed, NotLeader and database errors.
        """
        listed = tuple(await _in_time(self._provider.list_machines()))
        now, ids = clock.now(), {m.id for m in listed}
        came, went = ids - {m.id for m in self._listed}, {m.id for m in self._listed} - ids
        if came or went:
            log.info(
                "the list of machines has changed",
                extra={"pool": self._pool, "came": sorted(came), "went": sorted(went)},
            )
        self._listed = listed
        self._leaving = {id: m for id, m in self._leaving.items() if id in ids}
        self._give_up(ids, now)
        machines = (*listed, *(machine for machine, _ in self._new.values()))
        await self._note(machines, now)
        self.starts = await self._records.starts()
        return self.machines()

    def restart_waits(self, now: datetime) -> None:
        """Restart every wait now, because the clock was set."""
        self._orders = [replace(order, asked_at=now) for order in self._orders]
        self._new = {id: (machine, now) for id, (machine, _) in self._new.items()}
        self._unseen = dict.fromkeys(self._unseen, now)
        self._noted = None

    async def note_idle(self, since: Mapping[str, datetime]) -> None:
        """Store the start of each machine's idle time for the next leader.

        Raises NotLeader and database errors.
        """
        if since != self._idle_since:
            await self._records.note_idle(since)
            self._idle_since = dict(since)

    async def settle(self) -> None:
        """Repeat the orders without an answer.

        Raises:
            LaunchFailed, ProviderFailed: as `launch`.
        """
        for order in list(self._orders):
            if clock.now() - order.asked_at > ORDER_LIFE:
                await self._delete_order(order)
            else:
                await self._give(order, is_repeated=True)

    async def launch(self, count: int) -> Sequence[Machine]:
        """Start machines, and return the started ones.

        Raises:
            LaunchFailed: none could be started.
            ProviderFailed: the outcome is unknown; `settle` finds out.
            NotLeader: another leader has taken over; no order was sent.
        """
        order = LaunchOrder(str(entropy.new_uuid()), count, clock.now())
        await self._records.begin(order)
        self._orders.append(order)
        return await self._give(order)

    async def end(self, machines: Sequence[Machine]) -> None:
        """End machines, and repeat the request for machines that are still listed.

        Raises ProviderFailed and database errors; the next call repeats the request. NotLeader:
        another leader has taken over, which may have given them work; nothing is ended.
        """
        again = self._still_there()
        ids = [m.id for m in machines if m.id not in again]
        if ids or again:
            await self._records.note_leaving([*ids, *again], clock.now())
            self._leaving.update({m.id: m for m in machines})
            await _in_time(self._provider.terminate([*ids, *again]))

    def spare(self, machine_id: str) -> None:
        """Do not ask again to end a machine: something runs on it."""
        self._leaving.pop(machine_id, None)

    async def close(self) -> None:
        await self._provider.close()

    def _give_up(self, listed: set[str], now: datetime) -> None:
        """Stop waiting for new machines that are listed, or should have been by now."""
        waited = {id: entry for id, entry in self._new.items() if id not in listed}
        self._new = {id: e for id, e in waited.items() if now - e[1] <= LISTING_LAG}
        late = waited.keys() - self._new.keys()
        self._unseen |= dict.fromkeys(late - self._recalled, now)
        self._unseen = {
            id: at
            for id, at in self._unseen.items()
            if id not in listed and now - at <= UNSEEN_HOLD
        }
        if gone := sorted(late & self._recalled):
            log.warning(
                "machines from before are not listed any more: they have ended, or they run "
                "unnoticed because the provider's region, zone, tag or label, or the master's "
                "own machine, has changed",
                extra={"pool": self._pool, "machines": gone},
            )

    async def _give(self, order: LaunchOrder, *, is_repeated: bool = False) -> Sequence[Machine]:
        call = self._provider.launch(order.count, order.token, is_repeated=is_repeated)
        try:
            started = await _in_time(call)
        except LaunchFailed:
            await self._delete_order(order)
            raise
        now, listed = clock.now(), {m.id for m in self._listed}
        self._new.update({m.id: (m, now) for m in started if m.id not in listed})
        machines = (*self._listed, *(machine for machine, _ in self._new.values()))
        await self._note(machines, now)
        await self._delete_order(order)
        return started

    async def _delete_order(self, order: LaunchOrder) -> None:
        await self._records.settle(order)
        self._orders.remove(order)

    async def _note(self, machines: tuple[Machine, ...], now: datetime) -> None:
        before = self._noted
        if before is None or before[0] != machines or now - before[1] >= NOTE_EVERY:
            await self._records.note(machines, now)
            self._noted = machines, now


async def _in_time(call: Awaitable[T]) -> T:
    try:
        async with asyncio.timeout(CALL_S):
            return await call
    except TimeoutError:
        raise ProviderFailed(f"it did not answer within {CALL_S:.0f} s") from None
