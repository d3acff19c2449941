"""The only place where the agent draws randomness."""

import secrets
import uuid


def new_uuid() -> uuid.UUID:
    return uuid.UUID(bytes=secrets.token_bytes(16), version=4)


def token() -> str:
    """An opaque 256-bit token: 43 characters that are safe in URLs."""
    return secrets.token_urlsafe(32)


def jitter() -> float:
    """A number in [0, 1) that spreads reconnects over time."""
    return secrets.randbelow(10**6) / 10**6
