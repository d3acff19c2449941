"""Ports of an allocation that the master proxies. PURE.

Source: task-contract 7.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec


class ProxyPort(msgspec.Struct, frozen=True, omit_defaults=True):
    """One port of the chief's container that the master proxies."""

    port: int
    """In the container."""
    is_tcp: bool = False
    """Raw bytes in a WebSocket instead of HTTP."""
    is_unauthenticated: bool = False
    """The master requires no token: the service protects itself."""
    admits_readers: bool = False
    """A request without a token acts with the one with which its address last read the task."""
    is_default: bool = False
    """Its service is named by the task's id alone, without the port."""
    is_tls: bool = False
    """The service uses TLS, with a certificate of the cluster's own authority."""
    is_keyed: bool = False
    """The service requires the task's key, which the proxy adds to each request."""

    def service_id(self, task_id: str) -> str:
        """The name of the service in `/proxy/NAME/`."""
        return task_id if self.is_default else f"{task_id}:{self.port}"


def proxy_ports_of(environment: Mapping[str, Any]) -> tuple[ProxyPort, ...]:
    """The ports that a configuration's `environment` asks to have proxied, in its order."""
    return tuple(
        ProxyPort(
            port=int(item["proxy_port"]),
            is_tcp=bool(item.get("proxy_tcp")),
            is_unauthenticated=bool(item.get("unauthenticated")),
            is_default=bool(item.get("default_service_id")),
        )
        for item in environment.get("proxy_ports") or ()
    )


def task_of_service(service_id: str) -> str:
    """The task of a service's name, whether or not it exists."""
    return service_id.partition(":")[0]


def find_port(ports: Iterable[ProxyPort], service_id: str) -> ProxyPort | None:
    """The port of a service's name, among those of its task."""
    task_id = task_of_service(service_id)
    return next((p for p in ports if p.service_id(task_id) == service_id), None)
