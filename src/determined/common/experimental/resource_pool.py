"""A resource pool: where tasks find their slots."""

from __future__ import annotations

from determined.common.api import BaseSession


class ResourcePool:
    """A resource pool by its name."""

    def __init__(self, session: BaseSession, name: str = "") -> None:
        self._session = session
        self.name = name

    def __repr__(self) -> str:
        return f"ResourcePool(name={self.name!r})"
