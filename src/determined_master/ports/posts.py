"""Posts to servers outside of the cluster."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class PostFailed(Exception):
    """A post to another server got no answer; the text says why, for users."""

    def __init__(self, text: str, *, is_final: bool = False) -> None:
        super().__init__(text)
        self.is_final = is_final
        """Whether another try cannot succeed."""


class HttpPosts(Protocol):
    """Sends requests to servers outside of the cluster."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> int:
        """Post once.

        Returns:
            The status of the answer.

        Raises:
            PostFailed: there is none, or users may not name that address.
        """
        ...
