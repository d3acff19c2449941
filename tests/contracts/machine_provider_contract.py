"""What the master relies on in a provider of machines; each provider must do it.

A subclass gives a fixture `place` (see `Place`).
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from typing import Protocol

import pytest

from determined_master import clock
from determined_master.domain.machines.scaling import Machine
from determined_master.ports.machines import LaunchFailed, MachineProvider, ProviderFailed

SECONDS = 20.0
GONE = frozenset(("stopping", "stopped", "terminating"))


class Place(Protocol):
    """One test's cloud, with hands on what the provider cannot do."""

    provider: MachineProvider
    """Of one pool; not opened yet."""

    def again(self) -> MachineProvider:
        """The provider of the same pool as a master has it that was started again."""

    def other_pool(self) -> MachineProvider:
        """The provider of another pool in the same account."""

    async def refuse_launches(self) -> None:
        """From now on nothing can be started: a quota is used up, say."""

    async def leave_room_for(self, count: int) -> None:
        """That many more can be started."""

    async def stop_machine(self, machine_id: str) -> None:
        """Somebody shuts a machine down from inside, or its cloud does."""

    async def become_unreachable(self) -> None:
        """From now on no call is answered."""


def token() -> str:
    """A token that no other call has."""
    return str(uuid.uuid4())


def ids(machines: Sequence[Machine]) -> set[str]:
    """Their ids."""
    return {machine.id for machine in machines}


async def listed(provider: MachineProvider) -> dict[str, Machine]:
    """What is there and is not on its way out, by id."""
    async with asyncio.timeout(SECONDS):
        found = await provider.list_machines()
    assert len(ids(found)) == len(found)
    return {m.id: m for m in found if m.state not in GONE}


async def until_listed(provider: MachineProvider, wanted: set[str]) -> dict[str, Machine]:
    """What is there, once it is those: a listing may lag behind."""
    async with asyncio.timeout(SECONDS):
        while True:
            found = await listed(provider)
            if found.keys() == wanted:
                return found
            await asyncio.sleep(0.05)


class MachineProviderContract:
    """Start, list, end; each once, over restarts of the master too."""

    async def test_there_is_nothing_at_first(self, place: Place) -> None:
        await place.provider.open()
        assert await listed(place.provider) == {}
        await place.provider.close()

    async def test_launched_machines_are_listed(self, place: Place) -> None:
        await place.provider.open()
        before = clock.now()
        launched = await place.provider.launch(2, token())
        assert len(ids(launched)) == 2
        found = await until_listed(place.provider, ids(launched))
        for machine in found.values():
            assert machine.state in ("starting", "running")
            assert abs((machine.launched_at - before).total_seconds()) < SECONDS
        names = [machine.agent_name for machine in found.values()]
        assert len(set(names)) == 2
        assert all(names)
        await place.provider.close()

    async def test_the_same_token_starts_nothing_more(self, place: Place) -> None:
        await place.provider.open()
        mine = token()
        first = await place.provider.launch(2, mine)
        await place.provider.close()
        later = place.again()
        await later.open()
        assert ids(await later.launch(2, mine)) == ids(first)
        await until_listed(later, ids(first))
        await later.close()

    async def test_another_token_starts_others(self, place: Place) -> None:
        await place.provider.open()
        first = await place.provider.launch(1, token())
        second = await place.provider.launch(1, token())
        assert not ids(first) & ids(second)
        await until_listed(place.provider, ids(first) | ids(second))
        await place.provider.close()

    async def test_a_master_that_was_started_again_finds_its_machines(self, place: Place) -> None:
        await place.provider.open()
        launched = await place.provider.launch(1, token())
        before = await until_listed(place.provider, ids(launched))
        await place.provider.close()
        later = place.again()
        await later.open()
        after = await until_listed(later, ids(launched))
        [machine_id] = ids(launched)
        assert after[machine_id].launched_at == before[machine_id].launched_at
        assert after[machine_id].agent_name == before[machine_id].agent_name
        await later.close()

    async def test_machines_of_another_pool_are_not_listed(self, place: Place) -> None:
        other = place.other_pool()
        await place.provider.open()
        await other.open()
        mine = await place.provider.launch(1, token())
        theirs = await other.launch(1, token())
        await until_listed(place.provider, ids(mine))
        await until_listed(other, ids(theirs))
        await place.provider.close()
        await other.close()

    async def test_only_terminated_machines_end(self, place: Place) -> None:
        await place.provider.open()
        launched = sorted(ids(await place.provider.launch(3, token())))
        await until_listed(place.provider, set(launched))
        await place.provider.terminate(launched[:2])
        await until_listed(place.provider, {launched[2]})
        await place.provider.close()

    async def test_a_missing_machine_can_be_terminated_again(self, place: Place) -> None:
        await place.provider.open()
        launched = sorted(ids(await place.provider.launch(2, token())))
        await until_listed(place.provider, set(launched))
        await place.provider.terminate(launched[:1])
        await until_listed(place.provider, {launched[1]})
        await place.provider.terminate(launched)
        await until_listed(place.provider, set())
        await place.provider.close()

    async def test_a_machine_that_was_shut_down_is_stopped_or_gone(self, place: Place) -> None:
        await place.provider.open()
        [machine_id] = ids(await place.provider.launch(1, token()))
        await until_listed(place.provider, {machine_id})
        await place.stop_machine(machine_id)
        await until_listed(place.provider, set())
        await place.provider.close()

    async def test_where_not_all_can_be_started_some_are(self, place: Place) -> None:
        await place.provider.open()
        await place.leave_room_for(1)
        launched = await place.provider.launch(3, token())
        assert len(launched) == 1
        await until_listed(place.provider, ids(launched))
        await place.provider.close()

    async def test_a_launch_that_starts_nothing_says_why(self, place: Place) -> None:
        await place.provider.open()
        await place.refuse_launches()
        with pytest.raises(LaunchFailed) as caught:
            await place.provider.launch(1, token())
        assert len(str(caught.value)) > 10
        assert await listed(place.provider) == {}
        await place.provider.close()

    async def test_a_provider_that_does_not_answer_fails_every_call(self, place: Place) -> None:
        await place.provider.open()
        await place.become_unreachable()
        with pytest.raises(ProviderFailed):
            await place.provider.list_machines()
        with pytest.raises(ProviderFailed) as caught:
            await place.provider.launch(1, token())
        assert not isinstance(caught.value, LaunchFailed), "nobody knows that nothing was started"
        with pytest.raises(ProviderFailed):
            await place.provider.terminate(["some-machine"])
        await place.provider.close()
