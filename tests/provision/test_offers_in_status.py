"""The status of a pool names the offers that the last launch tried."""

from __future__ import annotations

from typing import Any

import pytest
from tests.contracts.fake_machines import FakeCloud, FakeMachines
from tests.domain.builders import T0

from determined_master.domain.machines.offers import (
    Choice,
    Offer,
    OfferReport,
    Tried,
    refuse,
)
from determined_master.domain.machines.scaling import MachineType
from determined_master.domain.machines.status import MachineStatus
from determined_master.provision.loops import LoopDependencies, MachineLoops
from determined_master.settings.pools import ResourcePool
from determined_master.settings.providers.provider import Provider

OFFER = Offer(machine_type="g5.xlarge", place="subnet-1")


class RefusedMachines(FakeMachines):
    """A cloud without room."""

    def offers(self) -> OfferReport:
        return OfferReport(
            choice=Choice(offers=()),
            tried=(Tried(offer=OFFER, answer="no room"),),
            cooldowns=refuse({}, OFFER, "no room", T0),
        )


def test_the_status_of_a_pool_names_the_tried_offers() -> None:
    parts: Any = None
    pool = ResourcePool(pool_name="gpus", provider=Provider(type="aws"))
    provider = RefusedMachines(FakeCloud(), "gpus", MachineType(slots=1))
    pools: Any = FakePools()
    dependencies = LoopDependencies(parts, parts, parts, parts, pools)
    loops = MachineLoops([pool], {"gpus": provider}, dependencies)
    status = loops.status("gpus")
    assert status is not None
    assert status.tried.startswith("tried g5.xlarge in subnet-1, on-demand: no room, left out")
    assert loops.status("others") is None


class FakePools:
    """Schedulers that are never asked."""

    def decision(self, pool: str) -> None:
        """None yet."""

    async def cordon(self, pool: str, names: frozenset[str]) -> None:
        """Nothing starts anyway."""


@pytest.mark.parametrize(
    ("fields", "is_shown"),
    [({}, False), ({"failure": "arn:aws:x"}, True), ({"starting": 1}, True)],
)
def test_offers_are_named_while_a_launch_concerns_somebody(
    fields: dict[str, Any], is_shown: bool
) -> None:
    status = MachineStatus(machines=0, max_machines=5, tried="tried x: no room", **fields)
    text = status.sentence()
    assert ("tried x: no room" in text) == is_shown
    assert "arn:aws" not in text
