"""Where machines are requested, and which offers are left out."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.domain.builders import T0

from determined_master.domain.machines.offers import (
    COOLDOWN,
    Choice,
    Cooldowns,
    Offer,
    OfferKind,
    OfferOrder,
    Refusal,
    SpotUse,
    Tried,
    accept,
    choose,
    left_out_sentence,
    machines_for,
    offers_of,
    refuse,
    tried_sentence,
)

MINUTE = timedelta(minutes=1)
CHEAP = OfferKind(machine_type="cheap", on_demand=1.0, spot=0.3)
DEAR = OfferKind(machine_type="dear", on_demand=3.0, spot=0.9)
UNKNOWN = OfferKind(machine_type="unknown")

PRICES = st.none() | st.floats(0, 100)
KINDS = st.lists(
    st.builds(
        OfferKind,
        machine_type=st.sampled_from(("a", "b", "c", "d")),
        on_demand=PRICES,
        spot=PRICES,
    ),
    min_size=1,
    max_size=4,
    unique_by=lambda kind: kind.machine_type,
)
PLACES = st.lists(st.sampled_from(("z1", "z2", "z3")), max_size=3, unique=True)
SPOT = st.sampled_from(("never", "prefer", "only"))
ORDER = st.sampled_from(("listed", "price"))
REASONS = st.sampled_from(("no room", "quota", "price"))


def names(choice: Choice) -> list[str]:
    """The offers that may be tried."""
    return [offer.name for offer in choice.offers]


def test_types_are_tried_in_all_places_in_their_order() -> None:
    offers = offers_of([DEAR, CHEAP], ["z1", "z2"], "never", "listed")
    assert [o.name for o in offers] == [
        "dear in z1, on-demand",
        "dear in z2, on-demand",
        "cheap in z1, on-demand",
        "cheap in z2, on-demand",
    ]


def test_by_price_the_cheapest_is_first_and_unknown_prices_last() -> None:
    offers = offers_of([UNKNOWN, DEAR, CHEAP], [], "prefer", "price")
    assert [o.name for o in offers] == [
        "cheap, spot",
        "dear, spot",
        "unknown, spot",
        "cheap, on-demand",
        "dear, on-demand",
        "unknown, on-demand",
    ]


@given(KINDS, PLACES, SPOT, ORDER)
def test_each_type_place_and_market_is_offered_once(
    kinds: list[OfferKind], places: list[str], spot: SpotUse, order: OfferOrder
) -> None:
    offers = offers_of(kinds, places, spot, order)
    markets = 2 if spot == "prefer" else 1
    assert len({o.key for o in offers}) == len(offers)
    assert len(offers) == len(kinds) * max(1, len(places)) * markets
    if spot == "prefer":
        half = len(offers) // 2
        assert {o.market for o in offers[:half]} == {"spot"}
        assert {o.market for o in offers[half:]} == {"on-demand"}


@given(KINDS, PLACES, SPOT)
def test_the_order_by_price_never_falls_on_a_market(
    kinds: list[OfferKind], places: list[str], spot: SpotUse
) -> None:
    for market in ("spot", "on-demand"):
        offers = [o for o in offers_of(kinds, places, spot, "price") if o.market == market]
        prices = [o.price_per_hour for o in offers]
        known = [p for p in prices if p is not None]
        assert known == sorted(known)
        assert prices[: len(known)] == known


@given(
    KINDS,
    PLACES,
    SPOT,
    ORDER,
    PRICES,
    st.lists(st.tuples(st.integers(0, 30), REASONS, st.integers(0, 200)), max_size=20),
)
def test_every_offer_is_chosen_or_left_out_with_a_reason(
    kinds: list[OfferKind],
    places: list[str],
    spot: SpotUse,
    order: OfferOrder,
    max_price: float | None,
    answers: list[tuple[int, Refusal, int]],
) -> None:
    offers = offers_of(kinds, places, spot, order)
    cooldowns: Cooldowns = {}
    now = T0
    for index, reason, minutes in answers:
        now += minutes * MINUTE
        cooldowns = refuse(cooldowns, offers[index % len(offers)], reason, now)
    choice = choose(offers, cooldowns, max_price, now)
    out = [one.offer for one in choice.left_out]
    assert sorted((*choice.offers, *out), key=lambda o: o.key) == sorted(
        offers, key=lambda o: o.key
    )
    assert list(choice.offers) == [o for o in offers if o in choice.offers], "the order stays"
    assert all(one.reason for one in choice.left_out)
    for one in choice.left_out:
        assert one.until is None or now < one.until <= now + COOLDOWN.longest
    if max_price is not None:
        assert all((o.price_per_hour or 0) <= max_price for o in choice.offers)
        assert all(o.price_per_hour is not None for o in choice.offers)
    later = choose(offers, cooldowns, None, now + COOLDOWN.longest)
    assert later.offers == offers, "no refusal counts for longer than an hour"


@given(st.integers(1, 20), REASONS)
def test_a_cooldown_doubles_up_to_an_hour(times: int, reason: Refusal) -> None:
    [first, *_] = offers_of([CHEAP, DEAR], [], "never", "listed")
    cooldowns: Cooldowns = {}
    now, before = T0, timedelta(0)
    for number in range(times):
        cooldowns = refuse(cooldowns, first, reason, now)
        cooldown = cooldowns[first.key]
        length = cooldown.until - cooldown.at
        assert length == COOLDOWN.after(number + 1)
        assert length >= before
        before, now = length, cooldown.until


def test_a_refusal_of_the_same_round_adds_nothing() -> None:
    offer = Offer(machine_type="a")
    once = refuse({}, offer, "no room", T0)
    assert refuse(once, offer, "no room", T0 + MINUTE) == once


def test_an_hour_without_a_refusal_ends_the_row() -> None:
    offer = Offer(machine_type="a")
    cooldowns = refuse({}, offer, "no room", T0)
    late = T0 + COOLDOWN.first + COOLDOWN.longest + MINUTE
    assert refuse(cooldowns, offer, "no room", late)[offer.key].times == 1
    assert refuse(cooldowns, offer, "no room", late - 2 * MINUTE)[offer.key].times == 2


def test_a_launch_that_succeeds_ends_the_row() -> None:
    one, other = Offer(machine_type="a"), Offer(machine_type="b")
    cooldowns = refuse(refuse({}, one, "quota", T0), other, "quota", T0)
    assert accept(cooldowns, one).keys() == {other.key}
    assert names(choose([one, other], accept(cooldowns, one), None, T0)) == ["a, on-demand"]


def test_a_single_offer_is_never_left_out_for_a_refusal() -> None:
    offer = Offer(machine_type="a", price_per_hour=2.0)
    cooldowns = refuse({}, offer, "no room", T0)
    assert choose([offer], cooldowns, None, T0).offers == (offer,)
    assert choose([offer], cooldowns, 1.0, T0).offers == ()


def test_a_clock_that_is_set_lengthens_no_cooldown() -> None:
    one, other = Offer(machine_type="a"), Offer(machine_type="b")
    cooldowns = refuse({}, one, "no room", T0)
    before = T0 - timedelta(days=1)
    assert len(choose([one, other], cooldowns, None, before).offers) == 2


def test_prices_that_are_too_high_or_unknown_are_left_out_with_both_values() -> None:
    choice = choose(offers_of([DEAR, UNKNOWN, CHEAP], [], "never", "listed"), {}, 2.0, T0)
    assert names(choice) == ["cheap, on-demand"]
    assert [one.reason for one in choice.left_out] == [
        "3 USD per hour is more than max_price (2)",
        "its price is unknown, and max_price is 2 USD per hour",
    ]


@pytest.mark.parametrize(
    ("slots", "on_one", "machines"), [(0, 4, 1), (1, 4, 1), (4, 4, 1), (5, 4, 2), (0, 0, 1)]
)
def test_slots_need_whole_machines(slots: int, on_one: int, machines: int) -> None:
    assert machines_for(slots, on_one) == machines


def test_the_sentence_names_offers_and_answers() -> None:
    spot = Offer(machine_type="a", place="z1", market="spot")
    gpu = Offer(machine_type="n1-standard-8", accelerator="1 x nvidia-tesla-t4")
    cooldowns = refuse({}, spot, "no room", T0)
    tried = [Tried(offer=spot, answer="no room"), Tried(offer=gpu, answer="2 started")]
    until = (T0 + COOLDOWN.first).strftime("%H:%M:%S UTC")
    assert tried_sentence(tried, cooldowns) == (
        f"tried a in z1, spot: no room, left out until {until}; "
        "n1-standard-8 with 1 x nvidia-tesla-t4, on-demand: 2 started"
    )
    assert tried_sentence([], cooldowns) == ""


def test_a_long_sentence_is_cut() -> None:
    offers = [Offer(machine_type=f"t{n}", price_per_hour=2.0) for n in range(11)]
    text = left_out_sentence(choose(offers, {}, 1.0, T0).left_out)
    assert "t7, on-demand" in text
    assert "t8" not in text
    assert text.endswith("; and 3 more")
