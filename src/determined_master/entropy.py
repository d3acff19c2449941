"""The only place where the master draws randomness."""

import secrets
import uuid


def token() -> str:
    """An opaque 256-bit token, URL-safe text of 43 characters.

    It begins with no dash: a command line would read the token as an option.
    """
    while (new := secrets.token_urlsafe(32)).startswith("-"):
        pass
    return new


def new_uuid() -> uuid.UUID:
    return uuid.UUID(bytes=secrets.token_bytes(16), version=4)


def seed() -> int:
    """A seed for a search or a trial: an integer in [0, 2**31)."""
    return secrets.randbelow(2**31)


def choice_index(n: int) -> int:
    """A uniform index in [0, n)."""
    return secrets.randbelow(n)


ADVERBS = ("boldly", "brightly", "calmly", "deeply", "eagerly", "gently", "gladly", "keenly")


ADJECTIVES = ("amber", "brave", "clever", "fresh", "golden", "lively", "patient", "swift")


ANIMALS = ("badger", "crane", "falcon", "heron", "lynx", "marten", "otter", "wren")


def pet_name() -> str:
    """Three words, such as `calmly-golden-otter`; not unique."""
    words = (ADVERBS, ADJECTIVES, ANIMALS)
    return "-".join(chosen[choice_index(len(chosen))] for chosen in words)
