"""Tokens, from memory and from the tables."""

from __future__ import annotations

from datetime import timedelta

import pytest

from determined_master import clock
from determined_master.domain.errors import Unauthenticated
from determined_master.services.access.identities import Identities
from determined_master.services.access.task_tokens import token_hash
from determined_master.store.access import sessions, users
from determined_master.store.access.sessions import SessionKind
from determined_master.store.db import Database

NAME = {"username": "ada", "password_hash": "x"}


async def open_session(
    pool: Database, token: str, kind: SessionKind = "login", life_s: float = 60
) -> tuple[int, int]:
    """A user with one session; their ids."""
    now = clock.now()
    async with pool.acquire() as conn:
        user = await users.insert_user(conn, {**NAME, "username": f"ada-{token}"}, now)
        expires_at = now + timedelta(seconds=life_s)
        session = await sessions.insert_session(
            conn, user.id, token_hash(token), created_at=now, expires_at=expires_at, kind=kind
        )
    return user.id, session


async def test_a_session_is_known_until_it_is_forgotten(pool: Database) -> None:
    identities = Identities(pool)
    user_id, session_id = await open_session(pool, "t")
    caller = await identities.authenticate("t")
    assert caller is not None
    assert (caller.user_id, caller.session_id, caller.scope) == (user_id, session_id, None)
    async with pool.acquire() as conn:
        await sessions.update_revoked(conn, session_id, clock.now())
    assert await identities.authenticate("t") is caller  # from memory
    identities.forget_token("t")
    with pytest.raises(Unauthenticated, match="invalid credentials"):
        await identities.authenticate("t")


async def test_a_changed_user_is_read_again(pool: Database) -> None:
    identities = Identities(pool)
    user_id, _ = await open_session(pool, "t")
    await identities.authenticate("t")
    async with pool.acquire() as conn:
        await users.update_user(conn, user_id, {"admin": True}, clock.now())
    identities.forget_users((user_id,))
    caller = await identities.authenticate("t")
    assert caller is not None
    assert caller.is_admin
    row = await identities.user(user_id)
    assert row is not None
    assert row.admin


async def test_unknown_expired_and_revoked_tokens_get_different_errors(pool: Database) -> None:
    identities = Identities(pool)
    assert await identities.authenticate("never") is None
    await open_session(pool, "old", life_s=-1)
    assert await identities.authenticate("old") is None
    _, session_id = await open_session(pool, "access", kind="access")
    async with pool.acquire() as conn:
        await sessions.update_revoked(conn, session_id, clock.now())
    with pytest.raises(Unauthenticated, match="user access token revoked"):
        await identities.authenticate("access")


async def test_an_answer_read_before_a_change_is_not_kept_after_it(
    pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    identities = Identities(pool)
    user_id, _ = await open_session(pool, "t")
    look_up = identities._look_up

    async def look_up_while_the_user_changes(digest: bytes) -> object:
        found = await look_up(digest)
        async with pool.acquire() as conn:
            await users.update_user(conn, user_id, {"active": False}, clock.now())
        identities.forget_users((user_id,))
        return found

    with monkeypatch.context() as patched:
        patched.setattr(identities, "_look_up", look_up_while_the_user_changes)
        await identities.authenticate("t")
    caller = await identities.authenticate("t")
    assert caller is not None
    assert not caller.is_active
