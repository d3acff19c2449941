"""Which credentials pull an image: those that name its registry, or none.

Source: https://kubernetes.io/docs/concepts/containers/images/ (the format of pull secrets).
"""

from __future__ import annotations

from typing import Protocol

HUB_HOST = "docker.io"


class Credentials(Protocol):
    """Credentials of a registry; empty texts are not set."""

    @property
    def username(self) -> str: ...
    @property
    def server_address(self) -> str: ...
    @property
    def identity_token(self) -> str: ...


def serves(credentials: Credentials | None, image: str) -> bool:
    """Whether an image is pulled with these credentials, so that its pod has a pull secret.

    Credentials that name another registry are left out, as agents leave them out.
    """
    if credentials is None or not (credentials.username or credentials.identity_token):
        return False
    address = credentials.server_address
    return not address or _host_of(address) == registry_of(image)


def registry_of(image: str) -> str:
    """The host in an image's name; that of Docker Hub without one."""
    first, slash, _ = image.partition("/")
    is_host = bool(slash) and (set(".:") & set(first) or first == "localhost")
    return _host_of(first) if is_host else HUB_HOST


def _host_of(address: str) -> str:
    host = (address.partition("://")[2] or address).partition("/")[0]
    return HUB_HOST if host in ("index.docker.io", "registry-1.docker.io") else host
