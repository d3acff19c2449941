"""What the engine relies on in a database; PostgreSQL and the simulated one must both do it.

A subclass gives a fixture `store` (see `Store`). Only the engine's own functions send statements:
the simulated server knows those and no others.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import asyncpg
import pytest
from tests.engine import toy

from determined_master import clock
from determined_master.domain.errors import FailedPrecondition
from determined_master.engine import Engine, Kind
from determined_master.engine.applying.queue import Post
from determined_master.engine.applying.transaction import Poisoned, Term, _Transaction, apply_batch
from determined_master.engine.connection import is_connection_loss
from determined_master.engine.errors import StaleEpoch
from determined_master.engine.kind import Outcome
from determined_master.engine.leadership.leader import _raise_epoch

COUNT = Kind(
    name="count",
    state=toy.Tally,
    event=toy.TallyEvent,
    effect=toy.TALLY.effect,
    step=toy.step,
    given_up=toy.given_up,
)
"""The toy without tables of its own."""
SECONDS = 60.0
Within = Callable[[Any], Awaitable[None]]


class Store(Protocol):
    """A database of one test."""

    async def connect(self) -> Any:
        """A connection as the engine's appliers have it."""

    def engine(self) -> Engine:
        """An engine on it that was not started, with `COUNT`."""

    def lose_next_answer(self) -> None:
        """The next commit is done, and its connection lost in place of the answer."""


class Held:
    """Keeps a transaction open, after it has locked and before it writes."""

    def __init__(self) -> None:
        self._is_in = asyncio.Event()
        self._continue = asyncio.Event()

    async def __call__(self, conn: Any) -> None:
        self._is_in.set()
        await self._continue.wait()

    async def begins(self) -> None:
        """Return once it has locked."""
        await asyncio.wait_for(self._is_in.wait(), SECONDS)

    def let_go(self) -> None:
        self._continue.set()


def added(
    id: str, amount: int, *, cause: str = "", within: Within | None = None, **more: Any
) -> Post:
    """An event that adds to the count of that id."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    event = toy.Added(amount, **more)
    return Post(COUNT, id, event, cause or f"{amount}", future, within=within)


async def applied(conn: Any, *posts: Post, epoch: int = 0) -> list[Outcome]:
    """Apply events in one transaction; what became of each."""
    async with asyncio.timeout(SECONDS):
        done = await apply_batch(conn, Term(epoch, clock.now), posts, ())
    outcomes = [outcome for _, outcome in done.outcomes]
    for outcome in outcomes:
        if isinstance(outcome, Exception):
            raise outcome
    return [o for o in outcomes if isinstance(o, Outcome)]


async def is_waiting(task: asyncio.Task[Any]) -> bool:
    """Whether a task is not over after as long as others take that wait for nobody."""
    done, _ = await asyncio.wait({task}, timeout=0.2)
    return not done


async def until_stale(conn: Any) -> None:
    """Apply events until one is refused because somebody else wants to lead."""
    async with asyncio.timeout(SECONDS):
        for number in itertools.count():
            try:
                await applied(conn, added("b", 1, cause=f"before {number}"))
            except StaleEpoch:
                return


@contextmanager
def refused(error: type[Exception]) -> Iterator[None]:
    """An event is refused for that reason."""
    with pytest.raises((Poisoned, error)) as caught:
        yield
    cause = caught.value.error if isinstance(caught.value, Poisoned) else caught.value
    while cause.__cause__ is not None and not isinstance(cause, error):
        assert isinstance(cause.__cause__, Exception)
        cause = cause.__cause__
    assert isinstance(cause, error), caught.value


class DatabaseContract:
    """Locks, conflicts, what is seen when, the lead, and commits whose answer is lost."""

    async def test_only_committed_changes_are_seen(self, store: Store) -> None:
        conn, engine, held = await store.connect(), store.engine(), Held()
        await applied(conn, added("a", 1))
        changing = asyncio.create_task(applied(conn, added("a", 2, within=held)))
        await held.begins()
        assert (await engine.read(COUNT, "a")).total == 1
        held.let_go()
        [outcome] = await changing
        assert (outcome.version, outcome.state.total) == (2, 3)
        assert (await engine.read(COUNT, "a")).total == 3

    async def test_a_transaction_that_fails_leaves_nothing_and_its_connection_is_good(
        self, store: Store
    ) -> None:
        async def fail(_: Any) -> None:
            raise FailedPrecondition("not now")

        conn, engine = await store.connect(), store.engine()
        with refused(FailedPrecondition):
            await applied(conn, added("a", 1), added("b", 2, within=fail))
        assert await engine.read(COUNT, "a") is None
        await applied(conn, added("a", 1), added("b", 2))
        assert (await engine.read(COUNT, "a")).total == 1
        assert (await engine.read(COUNT, "b")).total == 2

    async def test_a_locked_aggregate_delays_only_its_own_events(self, store: Store) -> None:
        one, two, three = [await store.connect() for _ in range(3)]
        await applied(one, added("a", 1), added("b", 1))
        held = Held()
        first = asyncio.create_task(applied(one, added("a", 10, within=held)))
        await held.begins()
        second = asyncio.create_task(applied(two, added("a", 100)))
        await applied(three, added("b", 5))
        assert await is_waiting(second)
        held.let_go()
        await first
        [outcome] = await second
        assert (outcome.version, outcome.state.total) == (3, 111)

    async def test_posts_behind_a_failed_one_continue_from_the_state_before_it(
        self, store: Store
    ) -> None:
        one, two = await store.connect(), await store.connect()
        await applied(one, added("a", 1))
        held = Held()

        async def fail(conn: Any) -> None:
            await held(conn)
            raise FailedPrecondition("after all")

        first = asyncio.create_task(applied(one, added("a", 10, within=fail)))
        await held.begins()
        second = asyncio.create_task(applied(two, added("a", 100)))
        assert await is_waiting(second)
        held.let_go()
        with refused(FailedPrecondition):
            await first
        [outcome] = await second
        assert (outcome.version, outcome.state.total) == (2, 101)

    async def test_a_lost_connection_lets_its_locks_go_and_what_it_wrote(
        self, store: Store
    ) -> None:
        one, two = await store.connect(), await store.connect()
        await applied(one, added("a", 1))
        held = Held()
        first = asyncio.create_task(applied(one, added("a", 10, within=held)))
        await held.begins()
        one.terminate()
        [outcome] = await applied(two, added("a", 100))
        assert outcome.state.total == 101
        held.let_go()
        [error] = await asyncio.gather(first, return_exceptions=True)
        assert isinstance(error, Exception)
        assert is_connection_loss(one, error)

    async def test_a_waiter_that_is_lost_holds_nothing_at_its_turn(self, store: Store) -> None:
        holder, lost, other = await store.connect(), await store.connect(), await store.connect()
        await applied(holder, added("a", 1))
        held = Held()
        open_one = asyncio.create_task(applied(holder, added("a", 2, within=held)))
        await held.begins()
        waiting = asyncio.create_task(applied(lost, added("a", 4)))
        assert await is_waiting(waiting)
        lost.terminate()
        held.let_go()
        await open_one
        async with asyncio.timeout(SECONDS):
            with pytest.raises(Exception, match="connection"):
                await waiting
            [outcome] = await applied(other, added("a", 8))
        assert outcome.state.total == 11

    async def test_two_that_make_one_aggregate_conflict(self, store: Store) -> None:
        one, two = await store.connect(), await store.connect()
        await applied(one, added("first of its month", 1))
        held = Held()
        first = asyncio.create_task(applied(one, added("a", 1, within=held)))
        await held.begins()
        blind = Held()
        second = asyncio.create_task(applied(two, added("a", 2, within=blind)))
        await blind.begins()  # it has looked for the aggregate, and there was none
        held.let_go()
        await first
        blind.let_go()
        with pytest.raises(asyncpg.UniqueViolationError):
            await second
        [outcome] = await applied(two, added("a", 2))
        assert outcome.state.total == 3

    async def test_a_repeated_cause_returns_the_version_that_it_made(self, store: Store) -> None:
        conn = await store.connect()
        await applied(conn, added("a", 1, cause="one"))
        await applied(conn, added("a", 2, cause="two"))
        again, other = await applied(conn, added("a", 1, cause="one"), added("b", 1, cause="one"))
        assert (again.is_duplicate, again.version, again.state.total) == (True, 1, 3)
        assert (other.is_duplicate, other.version) == (False, 1)

    async def test_two_that_want_what_the_other_has_do_not_wait_forever(
        self, store: Store
    ) -> None:
        conns = [await store.connect() for _ in range(2)]
        await applied(conns[0], added("a", 1), added("b", 1))
        held = [Held(), Held()]

        def crossing(mine: int, wanted: str) -> Within:
            async def lock(conn: Any) -> None:
                await held[mine](conn)
                await _Transaction(conn, Term(0, clock.now)).lock([added(wanted, 1)])

            return lock

        tasks = [
            asyncio.create_task(applied(conns[0], added("a", 10, within=crossing(0, "b")))),
            asyncio.create_task(applied(conns[1], added("b", 10, within=crossing(1, "a")))),
        ]
        for one in held:
            await one.begins()
        for one in held:
            one.let_go()
        results = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), SECONDS)
        errors = [r for r in results if isinstance(r, Exception)]
        assert len(errors) == 1
        with refused(asyncpg.DeadlockDetectedError):
            raise errors[0]

    @pytest.mark.parametrize("is_new", [True, False])
    async def test_a_commit_whose_answer_is_lost_is_done_and_found_by_its_cause(
        self, store: Store, is_new: bool
    ) -> None:
        one, two = await store.connect(), await store.connect()
        if not is_new:
            await applied(one, added("a", 1))
        store.lose_next_answer()
        with pytest.raises(Exception) as caught:  # noqa: PT011  each loses it in its own words
            await applied(one, added("a", 10, cause="lost"))
        assert is_connection_loss(one, caught.value)
        assert one.is_closed()
        [outcome] = await applied(two, added("a", 10, cause="lost"))
        assert outcome.is_duplicate
        assert outcome.state.total == (10 if is_new else 11)

    async def test_a_new_lead_waits_for_the_transactions_of_the_old_one_and_ends_it(
        self, store: Store
    ) -> None:
        old, other, new = [await store.connect() for _ in range(3)]
        await applied(old, added("first of its month", 1))
        held = Held()
        open_one = asyncio.create_task(applied(old, added("a", 1, within=held)))
        await held.begins()
        raising = asyncio.create_task(_raise_epoch(new))
        await until_stale(other)
        assert not raising.done()
        held.let_go()
        await open_one
        assert await asyncio.wait_for(raising, SECONDS) == 1
        with pytest.raises(StaleEpoch):
            await applied(old, added("a", 2))
        [outcome] = await applied(new, added("a", 4), epoch=1)
        assert (outcome.version, outcome.state.total) == (2, 5)

    async def test_one_leads_at_a_time_and_the_next_one_in_a_higher_epoch(
        self, store: Store
    ) -> None:
        async with store.engine() as one:
            first = await one.wait_until_leading()
            async with store.engine() as two:
                outcome = await two.post(COUNT, "a", toy.Added(1), cause="by the inbox")
                assert (outcome.version, two.is_leader) == (1, False)
                await one.stop()
                assert await two.wait_until_leading() > first
                outcome = await two.post(COUNT, "a", toy.Added(2), cause="by itself")
                assert outcome.version == 2

    async def test_orders_and_timers_of_an_engine_that_ended_are_taken_up_by_the_next(
        self, store: Store
    ) -> None:
        async with store.engine() as one:
            await one.wait_until_leading()
            event = toy.Added(1, echoes=("x", "y"), tick_s=0.0)
            hindered = asyncio.Event()

            async def never(effect: Any, context: Any) -> None:
                hindered.set()
                await asyncio.Event().wait()

            one.handlers.register(toy.Echo, never)
            await one.post(COUNT, "a", event, cause="1")
            await asyncio.wait_for(hindered.wait(), SECONDS)
        async with store.engine() as two:

            async def echo(effect: Any, context: Any) -> None:
                await context.post(COUNT, context.aggregate_id, toy.Echoed(effect.text))

            two.handlers.register(toy.Echo, echo)
            state = await two.wait_for(
                COUNT, "a", lambda t: t.echoes == 2 and t.ticks == 1, SECONDS
            )
            assert state.total == 1

    async def test_an_engine_settles_a_lost_answer_by_itself(self, store: Store) -> None:
        async with store.engine() as engine:
            await engine.wait_until_leading()
            await engine.post(COUNT, "a", toy.Added(1), cause="1")
            store.lose_next_answer()
            outcome = await engine.post(COUNT, "a", toy.Added(10), cause="2")
            assert outcome.version == 2
            assert (await engine.read(COUNT, "a")).total == 11
