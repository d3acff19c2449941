"""Who keeps a connection open is looked at again, as far as anybody can be asked."""

from __future__ import annotations

import asyncio

import asyncpg
import pytest

from determined_master.api.http.reauthorization import Reauthorization
from determined_master.domain.errors import Unauthenticated


@pytest.mark.parametrize(
    "error", [ConnectionResetError(), TimeoutError(), asyncpg.TooManyConnectionsError("full")]
)
async def test_nobody_is_sent_away_because_the_database_cannot_be_asked(error: Exception) -> None:
    work = asyncio.get_running_loop().create_future()
    looks = 0

    async def check() -> None:
        nonlocal looks
        looks += 1
        if looks == 2:
            work.set_result(None)
        raise error

    async with asyncio.timeout(10):
        await Reauthorization(check, every_s=0.001).first_of([work])
    assert looks == 2


async def test_a_caller_who_loses_access_is_disconnected() -> None:
    async def check() -> None:
        raise Unauthenticated("revoked")

    work = asyncio.get_running_loop().create_future()
    with pytest.raises(Unauthenticated):
        await Reauthorization(check, every_s=0.001).first_of([work])
    assert not work.done()
