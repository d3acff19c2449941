"""Which names are secrets, and how values under them are shown. PURE.

Settings of master and agent, configurations of experiments and answers ask this module.
`determined._masking` is the client's; `tests/domain/config/test_masking.py` compares both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASK = "********"
STORAGE_SECRETS = ("access_key", "secret_key", "connection_string", "credential")
REGISTRY_SECRETS = ("password", "identitytoken", "registrytoken", "auth")
_NAMES = frozenset((*STORAGE_SECRETS, *REGISTRY_SECRETS))
_WORDS = ("password", "secret", "token", "private_key", "access_key", "credential")


def is_secret(name: str) -> bool:
    """Whether a text under this name is never shown: a name above, or one with a word of them.

    The name of a file that holds a secret is none.
    """
    has_word = any(word in name.lower() for word in _WORDS)
    return name in _NAMES or (has_word and not name.endswith("_file"))


def mask_secrets(value: Any, name: str = "") -> Any:
    """The same tree with every secret text replaced; unset ones stay unset."""
    if isinstance(value, Mapping):
        return {str(key): mask_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(item, name) for item in value]
    return MASK if value and isinstance(value, str) and is_secret(name) else value
