"""A cloud in memory: the provider that other tests use, held to the contract of real ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from determined_master import clock
from determined_master.domain.machines.offers import Choice, Offer, OfferReport
from determined_master.domain.machines.scaling import Machine, MachineState, MachineType
from determined_master.ports.machines import LaunchFailed, ProviderFailed

QUOTA = "the quota of machines is used up"


@dataclass
class FakeCloud:
    """Machines of all pools; what a test may do to them."""

    now: Callable[[], datetime] = clock.now
    machines: dict[str, list[Machine]] = field(default_factory=dict)
    """By pool."""
    launches: list[tuple[str, int]] = field(default_factory=list)
    """Pool and count of each launch that started something."""
    room: int | None = None
    """How many more can be started; None for any number."""
    calls: list[str] = field(default_factory=list)
    """The name of each call, in their order."""
    is_reachable: bool = True
    is_lagging: bool = False
    """Whether new machines are not listed yet."""
    loses_answers: bool = False
    """Whether launches are done but their answers lost."""
    _by_token: dict[str, tuple[Machine, ...]] = field(default_factory=dict)
    _unlisted: set[str] = field(default_factory=set)
    _number: int = 0

    def set_state(self, machine_id: str, state: MachineState) -> None:
        """A machine is in another state from now on."""
        for pool, machines in self.machines.items():
            self.machines[pool] = [
                replace(m, state=state) if m.id == machine_id else m for m in machines
            ]

    def show_all(self) -> None:
        """The listing has caught up."""
        self.is_lagging = False
        self._unlisted.clear()

    def listed(self, pool: str) -> list[Machine]:
        """What a listing has."""
        return [m for m in self.machines.get(pool, []) if m.id not in self._unlisted]

    def launch(self, pool: str, count: int, token: str) -> tuple[Machine, ...]:
        """Start machines, once for each token."""
        if token in self._by_token:
            return self._by_token[token]
        count = count if self.room is None else min(count, self.room)
        if not count:
            raise LaunchFailed(QUOTA)
        if self.room is not None:
            self.room -= count
        made = tuple(self._make(pool) for _ in range(count))
        self.launches.append((pool, count))
        self._by_token[token] = made
        self.machines.setdefault(pool, []).extend(made)
        if self.is_lagging:
            self._unlisted |= {m.id for m in made}
        return made

    def _make(self, pool: str) -> Machine:
        self._number += 1
        id = f"{pool}-{self._number}"
        return Machine(id=id, agent_name=id, state="starting", launched_at=self.now())


class FakeMachines:
    """Implements `ports.MachineProvider`."""

    def __init__(self, cloud: FakeCloud, pool: str, type: MachineType) -> None:
        self.cloud = cloud
        self._pool = pool
        self._type = type

    @property
    def type(self) -> MachineType:
        """What each machine is."""
        return self._type

    async def open(self) -> None:
        """Nothing is to be found out."""
        self._call("open")

    async def list_machines(self) -> Sequence[Machine]:
        """What is there."""
        self._call("list")
        return self.cloud.listed(self._pool)

    def offers(self) -> OfferReport:
        """One, which is never refused for good."""
        offer = Offer(machine_type=self._type.instance_type or "fake")
        return OfferReport(choice=Choice(offers=(offer,)))

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        """Start some."""
        self._call("launch")
        made = self.cloud.launch(self._pool, count, token)
        if self.cloud.loses_answers:
            raise ProviderFailed("the answer was lost")
        return made

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        """End some."""
        self._call("terminate")
        machines = self.cloud.machines.setdefault(self._pool, [])
        machines[:] = [m for m in machines if m.id not in machine_ids]

    async def close(self) -> None:
        """There are no connections."""

    def _call(self, name: str) -> None:
        self.cloud.calls.append(name)
        if not self.cloud.is_reachable:
            raise ProviderFailed("the cloud does not answer")
