"""Tokens and their owners."""

from __future__ import annotations

from typing import Protocol

from determined_master.domain.access.rules import Caller


class Authenticator(Protocol):
    """Finds the owner of a token. Every request calls it, so it answers from memory."""

    async def authenticate(self, token: str) -> Caller | None:
        """The caller of a token; None for an unknown or expired one.

        The caller may be inactive (a deactivated user). A task's token gives its owner with the
        task's scope, and None once its allocation has ended.

        Raises:
            Unauthenticated: the token was revoked; the text says so.
        """
