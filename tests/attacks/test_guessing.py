"""Finding 14: passwords are guessed, and all others wait meanwhile."""

from __future__ import annotations

import asyncio

import pytest
from argon2 import PasswordHasher
from tests.api.client import Client
from tests.api.master import PASSWORD
from tests.api.samples import World

from determined_master.domain.errors import Unauthenticated
from determined_master.services.access.auth import Auth
from determined_master.services.access.devices import Devices
from determined_master.services.access.login_limits import (
    MAX_CHECKS,
    MAX_FAILURES,
    MAX_WAITING,
    WINDOW_S,
    LoginLimits,
    TooManyLogins,
)
from determined_master.services.access.passwords import client_hash

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
LOGIN = "/api/v1/auth/login"


async def test_the_eleventh_guess_in_a_minute_is_refused_before_the_hash(world: World) -> None:
    stranger = Client(world.clients["admin"].app)
    guess = {"username": "determined", "password": "guess"}
    answers = [await stranger("POST", LOGIN, guess) for _ in range(MAX_FAILURES + 1)]
    assert [a.status for a in answers] == [401] * MAX_FAILURES + [429]
    assert 0 < int(answers[-1].headers["retry-after"]) <= WINDOW_S
    right = {"username": "determined", "password": PASSWORD}
    assert (await stranger("POST", LOGIN, right)).status == 429
    assert (await stranger("POST", "/login", right)).status == 429


def failed(limits: LoginLimits, username: str, address: str, count: int = MAX_FAILURES) -> None:
    for _ in range(count):
        limits.check(username, address)
        limits.record(username, address, is_right=False)


async def test_an_address_that_guesses_is_refused_for_every_account() -> None:
    limits = LoginLimits()
    failed(limits, "a", "1.1.1.1")
    with pytest.raises(TooManyLogins, match=r"from 1\.1\.1\.1"):
        limits.check("b", "1.1.1.1")
    limits.check("b", "2.2.2.2")


async def test_an_account_under_attack_stays_open_where_it_has_logged_in_before() -> None:
    limits = LoginLimits()
    limits.record("ann", "9.9.9.9", is_right=True)
    for number in range(MAX_FAILURES):
        failed(limits, "ann", f"1.1.1.{number}", count=1)
    limits.check("ann", "9.9.9.9")
    with pytest.raises(TooManyLogins, match="of user 'ann'"):
        limits.check("ann", "8.8.8.8")


async def test_guesses_of_others_lock_out_no_device_and_no_known_place() -> None:
    limits = LoginLimits()
    limits.record("ann", "10.0.0.1", is_right=True)
    failed(limits, "eve", "10.0.0.1")
    limits.check("ann", "10.0.0.1")
    limits.check("bob", "10.0.0.1", "device of bob")
    with pytest.raises(TooManyLogins, match=r"from 10\.0\.0\.1"):
        limits.check("bob", "10.0.0.1")


async def test_guesses_at_a_place_are_limited_and_lock_out_that_place_alone() -> None:
    limits = LoginLimits()
    limits.record("ann", "10.0.0.1", is_right=True)
    failed(limits, "ann", "10.0.0.1")
    with pytest.raises(TooManyLogins, match="of user 'ann' from here"):
        limits.check("ann", "10.0.0.1")
    for _ in range(MAX_FAILURES):
        limits.record("ann", "10.0.0.1", "stolen", is_right=False)
    with pytest.raises(TooManyLogins, match="of user 'ann' from here"):
        limits.check("ann", "10.0.0.1", "stolen")
    limits.check("ann", "10.0.0.1", "another")
    limits.check("bob", "10.0.0.1")
    limits.check("ann", "2.2.2.2")


async def test_logins_of_strangers_fill_no_queue_of_a_known_place() -> None:
    limits, done = LoginLimits(), asyncio.Event()
    limits.record("ann", "10.0.0.1", is_right=True)

    async def login(username: str) -> None:
        async with limits.turn(username, "10.0.0.1"):
            await done.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_WAITING):
            group.create_task(login("eve"))
        await asyncio.sleep(0)
        with pytest.raises(Exception, match="too many logins at once"):
            async with limits.turn("eve", "10.0.0.1"):
                pass
        async with limits.turn("ann", "10.0.0.1"), limits.turn("bob", "10.0.0.1", "device"):
            done.set()


async def test_a_browser_that_logged_in_before_logs_in_beside_guesses(world: World) -> None:
    browser = Client(world.clients["admin"].app)
    auth = world.services[Auth]
    first = await auth.login("determined", PASSWORD, is_hashed=False, address="6.6.6.6")
    right = {"username": "determined", "password": PASSWORD}
    for _ in range(MAX_FAILURES):
        await browser("POST", LOGIN, {"username": "eve", "password": "guess"})
        await browser("POST", LOGIN, {"username": "determined", "password": "guess"})
    forged = [first.mark.partition(".")[0] + "." + "0" * 64, "", ".", "ü", "x." * 5000]
    other = Devices(b"another cluster").mark("determined")
    of_admin = (await auth.login("admin", PASSWORD, is_hashed=False)).mark
    for mark in [*forged, other, of_admin]:
        headers = {"cookie": f"det_device={mark}"}
        assert (await browser("POST", LOGIN, right, headers=headers)).status == 429
    headers = {"cookie": f"det_device=tossed; det_device={first.mark}"}
    answer = await browser("POST", LOGIN, right, headers=headers)
    assert answer.status == 200


async def test_failures_are_forgotten_after_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("determined_master.clock.monotonic_s", lambda: now)
    limits = LoginLimits()
    failed(limits, "a", "1.1.1.1")
    now += WINDOW_S + 0.1
    limits.check("a", "1.1.1.1")


async def test_one_address_holds_few_checks_and_others_need_not_wait() -> None:
    limits, running, done = LoginLimits(), 0, asyncio.Event()
    for address in ("1.1.1.1", "2.2.2.2"):
        limits.record("ann", address, is_right=True)
    other_runs = asyncio.Event()

    async def login(address: str) -> None:
        nonlocal running
        async with limits.turn("ann", address):
            running += 1
            if address == "2.2.2.2":
                other_runs.set()
            await done.wait()

    async with asyncio.TaskGroup() as group:
        for _ in range(MAX_WAITING):
            group.create_task(login("1.1.1.1"))
        group.create_task(login("2.2.2.2"))
        await other_runs.wait()
        assert running == MAX_CHECKS + 1
        with pytest.raises(Exception, match="too many logins at once"):
            async with limits.turn("ann", "1.1.1.1"):
                pass
        done.set()
    assert running == MAX_WAITING + 1


async def test_strangers_take_turns_by_address_and_known_addresses_do_not_wait() -> None:
    limits, order = LoginLimits(), []
    limits.record("ann", "9.9.9.9", is_right=True)
    held = asyncio.Event()

    async def login(username: str, address: str) -> None:
        async with limits.turn(username, address):
            order.append(address)
            await held.wait()

    async with asyncio.TaskGroup() as group:
        for address in ("1.1.1.1",) * MAX_CHECKS + ("2.2.2.2",) * MAX_CHECKS:
            group.create_task(login("ann", address))
        await asyncio.sleep(0)
        cancelled = group.create_task(login("bob", "3.3.3.3"))
        group.create_task(login("eve", "4.4.4.4"))
        group.create_task(login("ann", "9.9.9.9"))
        for _ in range(4):
            await asyncio.sleep(0)
        assert order == ["1.1.1.1", "1.1.1.1", "9.9.9.9"]
        cancelled.cancel()
        held.set()
    assert order[3:] == ["1.1.1.1", "2.2.2.2", "4.4.4.4", "1.1.1.1", *["2.2.2.2"] * 3]


async def test_the_hash_of_an_older_release_is_renewed_at_a_login(world: World) -> None:
    older = PasswordHasher(time_cost=1, memory_cost=16, parallelism=1).hash(client_hash(PASSWORD))
    body = {"user": {"username": "older", "active": True}, "password": PASSWORD}
    assert (await world.clients["admin"]("POST", "/api/v1/users", body)).status == 200
    auth = world.services[Auth]
    async with auth._db.acquire() as conn:
        await conn.execute("UPDATE users SET password_hash = $1 WHERE username = 'older'", older)
        stored = "SELECT password_hash FROM users WHERE username = 'older'"
        with pytest.raises(Unauthenticated):
            await auth.login("older", "wrong password", is_hashed=False, address="7.7.7.7")
        assert await conn.fetchval(stored) == older
        for _ in range(2):
            await auth.login("older", PASSWORD, is_hashed=False, address="7.7.7.7")
            assert await conn.fetchval(stored) != older


@pytest.mark.parametrize(("length", "status"), [(7, 400), (8, 200)])
async def test_a_new_password_has_eight_characters(world: World, length: int, status: int) -> None:
    user = {"username": f"short{length}", "active": True}
    answer = await world.clients["admin"](
        "POST", "/api/v1/users", {"user": user, "password": "p" * length}
    )
    assert answer.status == status
