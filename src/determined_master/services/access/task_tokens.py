"""Tokens of allocations: derived, so that a repeated start gives a container the same ones."""

from __future__ import annotations

import base64
import hashlib
import hmac


class TaskTokens:
    """Derives the tokens of allocations and notebooks from the cluster's secret."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def session_token(self, allocation_id: str) -> str:
        """The token for the routes of the allocation's own task; 256 bits."""
        return self._derive("session", allocation_id)

    def user_token(self, allocation_id: str) -> str:
        """The token with which code inside the task acts as its owner; 256 bits."""
        return self._derive("user", allocation_id)

    def notebook_token(self, task_id: str) -> str:
        """The token with which a user opens a notebook; 256 bits."""
        return self._derive("notebook", task_id)

    def service_key(self, task_id: str) -> str:
        """The key that the master's proxy presents to a task's server; 256 bits."""
        return self._derive("service", task_id)

    def ssh_seed(self, experiment_id: int) -> bytes:
        """The seed of the ssh keys of an experiment's trials; 32 bytes."""
        return self._digest("ssh", str(experiment_id))

    def shell_seed(self, task_id: str) -> bytes:
        """The seed of the ssh keys of a shell; 32 bytes."""
        return self._digest("shell", task_id)

    def certificate_seed(self, name: str) -> bytes:
        """The seed of the key of a certificate of the cluster; 32 bytes."""
        return self._digest("certificate", name)

    def _derive(self, purpose: str, name: str) -> str:
        digest = self._digest(purpose, name)
        return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()

    def _digest(self, purpose: str, name: str) -> bytes:
        return hmac.new(self._secret, f"{purpose}:{name}".encode(), hashlib.sha256).digest()


def token_hash(token: str) -> bytes:
    """The stored form of a token: its SHA-256, 32 bytes."""
    return hashlib.sha256(token.encode()).digest()
