"""What the master needs from outside itself, as protocols that `app.py` fills."""

from __future__ import annotations

from typing import Protocol

from determined_master.domain.access import Caller


class Authenticator(Protocol):
    """Knows whose token a token is. Asked for every request, so it answers from memory."""

    async def authenticate(self, token: str) -> Caller | None:
        """The caller a token stands for; None for an unknown or expired one.

        The caller may be inactive (a user who was deactivated). A task's token gives its
        owner with the task's scope, and None once its allocation has ended.

        Raises:
            Unauthenticated: the token was revoked, with the text that says so.
        """
