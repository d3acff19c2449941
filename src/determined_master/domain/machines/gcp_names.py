"""The names and labels of machines of GCP."""

from __future__ import annotations

import hashlib
import re

MAX_NAME = 63
DIGITS = 5
ADJECTIVES = ("amber", "brave", "clever", "fresh", "golden", "lively", "patient", "swift")
ANIMALS = ("badger", "crane", "falcon", "heron", "lynx", "marten", "otter", "wren")
_LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
_NOT_OF_LABELS = re.compile(r"[^a-z0-9_-]")


def label_value(text: str) -> str:
    """A text as a label's value; an invalid one gets a hash as its end."""
    if _LABEL_VALUE.fullmatch(text):
        return text
    digest = hashlib.sha256(text.encode()).hexdigest()[:8]
    return f"{_NOT_OF_LABELS.sub('-', text.lower())[: MAX_NAME - 9]}-{digest}"


def machine_names(prefix: str, token: str, count: int) -> tuple[list[str], bool]:
    """The names of the machines of one launch, and whether they were shortened.

    Two words and five digits are derived from the launch's token, so that a repeated launch names
    the same machines.

    Args:
        prefix: lower-case letters, digits and dashes, a letter first.
        token: of the launch.
        count: how many, at least 1.

    Returns:
        Different names of at most 63 characters; whether the prefix was too long for that.
    """
    drawn = int.from_bytes(hashlib.sha256(token.encode()).digest()[:8], "big")
    drawn, adjective = divmod(drawn, len(ADJECTIVES))
    drawn, animal = divmod(drawn, len(ANIMALS))
    stem = f"{prefix}{ADJECTIVES[adjective]}-{ANIMALS[animal]}"
    room = MAX_NAME - DIGITS - 1
    shown = stem if len(stem) <= room else stem[:room].rstrip("-")
    numbers = ((drawn + i) % 10**DIGITS for i in range(count))
    return [f"{shown}-{number:0{DIGITS}}" for number in numbers], len(stem) > room
