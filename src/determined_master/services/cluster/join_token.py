"""The token that agents show when they join, for what machines ask before they have an agent."""

from __future__ import annotations

import hmac

from determined_master.domain.errors import Unauthenticated


class JoinToken:
    """The cluster's own."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()

    def check(self, authorization: bytes) -> None:
        """Raise Unauthenticated unless a header `Authorization: Bearer …` holds it."""
        if not hmac.compare_digest(authorization.removeprefix(b"Bearer "), self._token):
            raise Unauthenticated(
                "a wrong join token was shown: `det -u admin agent token` prints the right one; "
                "end a machine on demand that has another, its pool starts a new one"
            )
