"""The only place where the agent draws randomness."""

import secrets
import uuid


def new_uuid() -> uuid.UUID:
    return uuid.UUID(bytes=secrets.token_bytes(16), version=4)


def jitter() -> float:
    """A number in [0, 1) that spreads reconnects over time."""
    return secrets.randbelow(10**6) / 10**6
