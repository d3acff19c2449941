"""The route of the machines that a pool could get."""

from __future__ import annotations

from collections.abc import Iterator

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.domain.machines.offers import LeftOut, Offer
from determined_master.services.cluster.pools import FoundOffers, Pools
from determined_wire import own


@route(
    "GET", "/api/v1/resource-pools/{resource_pool_name}/offers", access=SIGNED_IN, in_task=READS
)
async def get_pool_offers(
    call: Call, request: own.GetPoolOffersRequest, pools: Pools
) -> own.GetPoolOffersResponse:
    """The machine types, places and markets of a pool, in the order of launches."""
    found = pools.offers(call.caller, request.resource_pool_name, request.slots)
    return own.GetPoolOffersResponse(
        resource_pool_name=found.pool,
        slots=found.slots,
        slots_per_machine=found.slots_of_machine,
        machines=found.machines,
        max_machines=found.max_machines,
        offers=list(_shown(found)),
        problem=_problem(found),
    )


def _shown(found: FoundOffers) -> Iterator[own.PoolOffer]:
    for offer in found.report.choice.offers:
        yield _offer(offer, found.machines)
    for one in found.report.choice.left_out:
        yield _offer(one.offer, found.machines, one)


def _offer(offer: Offer, machines: int, left_out: LeftOut | None = None) -> own.PoolOffer:
    price = offer.price_per_hour
    return own.PoolOffer(
        machine_type=offer.machine_type,
        accelerator=offer.accelerator,
        place=offer.place,
        market=offer.market,
        price_per_hour=price,
        total_per_hour=None if price is None else round(price * machines, 4),
        left_out=left_out.reason if left_out is not None else "",
        left_out_until=left_out.until if left_out is not None else None,
    )


def _problem(found: FoundOffers) -> str:
    if found.machines > found.max_machines:
        return (
            f"{found.slots} slots need {found.machines} machines, and the pool may have "
            f"{found.max_machines} (max_instances, max_cost_per_hour)"
        )
    if not found.report.choice.offers:
        return "every machine type and place of the pool is left out now"
    return ""
