"""The registry of services: routes and loops find a service by its type."""

from __future__ import annotations

from typing import Any, TypeVar, cast

S = TypeVar("S")


class Services:
    """The services of one master; made by `composition/services.py`."""

    def __init__(self, *services: object) -> None:
        self._by_type: dict[type[Any], Any] = {}
        for service in services:
            self.add(type(service), service)

    def add(self, kind: type[Any], service: object) -> None:
        """Register a service under a type: its own, or a protocol that it implements.

        Raises:
            ValueError: the type has a service already.
        """
        if kind in self._by_type:
            raise ValueError(f"two services of type {kind.__name__}")
        self._by_type[kind] = service

    def __getitem__(self, kind: type[S]) -> S:
        """The service of a type.

        Raises:
            LookupError: there is none.
        """
        if kind not in self._by_type:
            raise LookupError(f"no service of type {kind.__name__}")
        return cast(S, self._by_type[kind])
