"""Passwords."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from determined_master.domain.errors import InvalidArgument
from determined_master.services.access.passwords import Passwords, client_hash, hashed_form


@pytest.fixture
def passwords() -> Iterator[Passwords]:
    made = Passwords(memory_kib=8, time_cost=1)
    yield made
    made.close()


async def test_a_password_matches_its_own_hash_only(passwords: Passwords) -> None:
    stored = await passwords.hash(client_hash("right"))
    assert "right" not in stored
    assert await passwords.matches(stored, client_hash("right"))
    assert not await passwords.matches(stored, client_hash("wrong"))
    assert not await passwords.matches("no hash", client_hash("right"))


async def test_nothing_matches_where_nothing_is_stored(passwords: Passwords) -> None:
    assert not await passwords.matches(None, "nobody's password")


def test_clients_hash_with_the_salt_they_always_had() -> None:
    assert client_hash("x") == hashed_form("x", is_hashed=False)
    assert hashed_form(client_hash("x"), is_hashed=True) == client_hash("x")
    assert len(client_hash("x")) == 128


@pytest.mark.parametrize(("password", "is_hashed"), [("", False), (" ", False), ("", True)])
def test_blank_passwords_are_refused_in_both_forms(password: str, is_hashed: bool) -> None:
    with pytest.raises(InvalidArgument):
        hashed_form(password, is_hashed=is_hashed)
    with pytest.raises(InvalidArgument):
        hashed_form(client_hash(""), is_hashed=True)
