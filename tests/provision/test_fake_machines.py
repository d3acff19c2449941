"""The cloud in memory does what a provider must do."""

from __future__ import annotations

import pytest
from tests.contracts.fake_machines import FakeCloud, FakeMachines
from tests.contracts.machine_provider_contract import MachineProviderContract

from determined_master.domain.machines.scaling import MachineType
from determined_master.ports.machines import MachineProvider

TYPE = MachineType(slots=4, device_type="cuda")


class FakePlace:
    """Implements `Place`."""

    def __init__(self) -> None:
        self._cloud = FakeCloud()
        self.provider: MachineProvider = FakeMachines(self._cloud, "gpus", TYPE)

    def again(self) -> MachineProvider:
        return FakeMachines(self._cloud, "gpus", TYPE)

    def other_pool(self) -> MachineProvider:
        return FakeMachines(self._cloud, "others", TYPE)

    async def refuse_launches(self) -> None:
        self._cloud.room = 0

    async def leave_room_for(self, count: int) -> None:
        self._cloud.room = count

    async def stop_machine(self, machine_id: str) -> None:
        self._cloud.set_state(machine_id, "stopped")

    async def become_unreachable(self) -> None:
        self._cloud.is_reachable = False


class TestFakeMachines(MachineProviderContract):
    @pytest.fixture
    def place(self) -> FakePlace:
        return FakePlace()
