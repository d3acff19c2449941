"""Nobody waits behind all work of somebody else."""

from __future__ import annotations

import asyncio
from collections import Counter
from random import Random
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.engine.toy import TALLY

from determined_master.engine.applying.queue import Post, PostQueue
from determined_master.engine.turns import FairSlots, Owner, Shares, Turns

HEAVY = Owner("user 1", "experiment 1")
LIGHT = Owner("user 2", "experiment 2")
owners = st.builds(
    lambda user, work: Owner(f"user {user}", f"experiment {user}.{work}"),
    st.integers(0, 3),
    st.integers(0, 3),
)


def anyone(_: Owner) -> bool:
    return True


def post(n: int, owner: Owner) -> Post:
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    return Post(TALLY, f"{owner.work} {n}", None, "c", future, owner=owner)


async def take_now(queue: PostQueue) -> list[Post]:
    """A batch, or none if it would have to wait."""
    taking = asyncio.ensure_future(queue.take())
    for _ in range(8):
        await asyncio.sleep(0)
    if not taking.done():
        taking.cancel()
        return []
    return (await taking)[0]


@given(st.lists(owners, min_size=1, max_size=60))
def test_every_item_is_taken_once_and_each_work_keeps_its_order(items: list[Owner]) -> None:
    turns: Turns[int] = Turns()
    for n, owner in enumerate(items):
        turns.put(owner, n)
    taken = []
    while (turn := turns.take(anyone)) is not None:
        taken.append(turn)
    assert sorted(n for _, n in taken) == list(range(len(items)))
    for owner in set(items):
        of_owner = [n for o, n in taken if o == owner]
        assert of_owner == sorted(of_owner)


@given(st.lists(owners, min_size=1, max_size=60))
def test_between_two_turns_of_a_user_each_other_one_has_at_most_one(items: list[Owner]) -> None:
    turns: Turns[int] = Turns()
    for n, owner in enumerate(items):
        turns.put(owner, n)
    since: dict[str, Counter[str]] = {user: Counter() for user, _ in items}
    left = Counter(user for user, _ in items)
    while (turn := turns.take(anyone)) is not None:
        user = turn[0].user
        for other, counts in since.items():
            counts[user] += other != user
            assert not left[other] or counts[user] <= 1
        since[user].clear()
        left[user] -= 1


def test_an_owner_at_its_bound_is_passed_over() -> None:
    turns: Turns[str] = Turns()
    turns.put(HEAVY, "heavy")
    turns.put(LIGHT, "light")
    shares = Shares(user=1, work=1)
    shares.add(HEAVY)
    assert turns.take(shares.may_have) == (LIGHT, "light")
    assert turns.take(shares.may_have) is None
    shares.add(HEAVY, -1)
    assert turns.take(shares.may_have) == (HEAVY, "heavy")


async def test_an_event_of_a_neighbour_is_in_the_next_batch() -> None:
    queue = PostQueue(limit=20_000, batch=128)
    for n in range(10_000):
        queue.put(post(n, HEAVY))
    neighbour = post(1, LIGHT)
    queue.put(neighbour)
    posts, _ = await queue.take()
    assert neighbour in posts
    assert len(posts) == 128 // 4 + 1, "a batch of one work is short"


async def test_a_neighbour_goes_to_the_next_worker_while_one_aggregate_fills_a_batch() -> None:
    queue = PostQueue(limit=20_000, batch=128)
    for _ in range(1000):
        queue.put(post(0, HEAVY))
    neighbour = post(1, LIGHT)
    queue.put(neighbour)
    posts, _ = await queue.take()
    assert {p.key for p in posts} == {("tally", "experiment 1 0")}
    assert len(posts) == 128
    others, _ = await queue.take()
    assert others == [neighbour]


async def test_a_work_never_has_two_workers_so_that_one_is_free_for_a_neighbour() -> None:
    queue = PostQueue(limit=20_000, batch=128)
    for n in range(1000):
        queue.put(post(n, HEAVY))
    posts, _ = await queue.take()
    assert await take_now(queue) == []
    second = asyncio.ensure_future(queue.take())
    neighbour = post(1, LIGHT)
    queue.put(neighbour)
    assert await asyncio.wait_for(second, 60) == ([neighbour], [])
    third = asyncio.ensure_future(queue.take())
    queue.give_back(posts, took_s=0.0)
    more, _ = await asyncio.wait_for(third, 60)
    assert len(more) == 128 // 4


async def test_a_work_of_many_events_pauses_between_its_batches_while_a_neighbour_has_some() -> (
    None
):
    queue = PostQueue(limit=20_000, batch=128)
    queue.put(post(0, LIGHT))
    small, _ = await queue.take()
    queue.give_back(small, took_s=0.0)
    for n in range(1000):
        queue.put(post(n, HEAVY))
    many, _ = await queue.take()
    queue.give_back(many, took_s=3600.0)
    queue.put(post(1, LIGHT))
    queue.put(post(2, LIGHT))
    assert [p.turn for p in await take_now(queue)] == [LIGHT, LIGHT]
    assert await take_now(queue) == []


async def test_a_pause_ends_by_itself() -> None:
    queue = PostQueue(limit=20_000, batch=128)
    queue.put(post(0, LIGHT))
    small, _ = await queue.take()
    queue.give_back(small, took_s=0.0)
    for n in range(1000):
        queue.put(post(n, HEAVY))
    many, _ = await queue.take()
    queue.give_back(many, took_s=0.01)
    more, _ = await asyncio.wait_for(queue.take(), 60)
    assert len(more) == 128 // 4


async def test_events_that_callers_post_in_the_next_passes_are_in_the_same_batch() -> None:
    queue = PostQueue(limit=20_000, batch=128)
    loop = asyncio.get_running_loop()
    queue.put(post(0, HEAVY))
    taking = asyncio.ensure_future(queue.take())
    loop.call_soon(queue.put, post(1, HEAVY))
    loop.call_soon(loop.call_soon, queue.put, post(2, HEAVY))
    posts, _ = await asyncio.wait_for(taking, 60)
    assert len(posts) == 3


@given(
    st.lists(st.tuples(owners, st.integers(0, 2)), min_size=1, max_size=60),
    st.integers(0, 1000),
)
def test_batches_at_one_time_share_no_work_and_each_event_is_in_one(
    items: list[tuple[Owner, int]], seed: int
) -> None:
    random = Random(seed)

    async def scenario() -> None:
        queue = PostQueue(limit=20_000, batch=8)
        left = [post(n, owner) for owner, n in items]
        taken: list[Post] = []
        open_batches: list[list[Post]] = []
        while len(taken) < len(items) or open_batches:
            step = random.randrange(3)
            if step == 0 and left:
                queue.put(left.pop(0))
            elif step == 1 and open_batches:
                queue.give_back(open_batches.pop(random.randrange(len(open_batches))), took_s=0.0)
            elif step == 2 and (posts := await take_now(queue)):
                works = {p.turn.work for batch in open_batches for p in batch}
                assert works.isdisjoint(p.turn.work for p in posts)
                open_batches.append(posts)
                taken += posts
        assert len(set(map(id, taken))) == len(items)

    asyncio.run(scenario())


async def test_a_full_queue_of_one_user_has_room_for_another() -> None:
    queue = PostQueue(limit=400, batch=128)
    for n in range(100):
        queue.put(post(n, HEAVY))
    assert not queue.has_room(HEAVY)
    await asyncio.wait_for(queue.wait_for_room(LIGHT), 60)
    waiting = asyncio.ensure_future(queue.wait_for_room(HEAVY))
    posts, _ = await queue.take()
    queue.give_back(posts, took_s=0.0)
    await asyncio.wait_for(waiting, 60)


async def test_a_slot_is_free_for_a_neighbour_while_ten_thousand_wait() -> None:
    slots, release = FairSlots(64), asyncio.Event()
    held: Counter[Owner] = Counter()

    async def hold(owner: Owner) -> None:
        async with slots.slot(owner):
            held[owner] += 1
            await release.wait()

    tasks = [asyncio.ensure_future(hold(HEAVY)) for _ in range(10_000)]
    tasks.append(asyncio.ensure_future(hold(LIGHT)))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert held == {HEAVY: 16, LIGHT: 1}
    release.set()
    await asyncio.gather(*tasks)
    assert held[HEAVY] == 10_000


async def test_a_cancelled_wait_leaves_no_slot_taken() -> None:
    slots = FairSlots(1)
    async with slots.slot(HEAVY):
        waits = [asyncio.ensure_future(_take(slots)) for _ in range(3)]
        await asyncio.sleep(0)
        waits[0].cancel()
    await asyncio.gather(*waits, return_exceptions=True)
    async with asyncio.timeout(60), slots.slot(LIGHT):
        pass


async def _take(slots: FairSlots) -> None:
    async with slots.slot(LIGHT):
        pass
