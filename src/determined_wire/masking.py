"""Which names are secrets, and how values under them are shown. PURE.

Settings of master and agent, configurations of experiments and answers ask this module.
`determined._masking` has the client's copy; `tests/domain/config/test_masking.py` compares both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

MASK = "********"
STORAGE_SECRETS = ("access_key", "secret_key", "connection_string", "credential")
REGISTRY_SECRETS = ("password", "identitytoken", "registrytoken", "auth")
_PARTS = (
    *("password", "passwd", "passphrase", "passcode", "secret", "credential"),
    *("apikey", "accesskey", "privatekey", "signingkey", "accountkey", "encryptionkey"),
    *("connectionstring", "identitytoken", "registrytoken"),
)
"""A name is secret if it has one of these, written with or without separators."""
_WORDS = frozenset(("pwd", "bearer", "authorization"))
_TEXT_TOKENS = frozenset(("bos", "cls", "eos", "image", "mask", "pad", "sep", "stop", "unk"))
"""Tokens of a vocabulary: `pad_token` is a text of a model, and no secret."""
_PASSWORD = re.compile(
    r"://[^/\s:@]*:[^/\s@]+@|\b(?:password|pwd|accountkey|sharedaccesskey)\s*=\s*[^;\s]", re.I
)


def is_secret(name: str) -> bool:
    """Whether a text under this name is a secret.

    A name is read as words, however they are written: `api_key`, `api-key`, `apiKey`. A token is
    one if its name ends with that word, so `max_tokens` and `tokenizer` are none. The name of a
    file that holds a secret is none.
    """
    words = re.findall(r"[a-z0-9]+", re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower())
    if not words or words[-1] == "file":
        return False
    whole = "".join(words)
    is_token = words[-1].endswith("token") and not _TEXT_TOKENS.intersection(words[-2:-1])
    return is_token or whole == "auth" or not _WORDS.isdisjoint(words) or _has_part(whole)


def has_password(text: str) -> bool:
    """Whether a text is an address or a connection string with a password."""
    return _PASSWORD.search(text) is not None


def _has_part(whole: str) -> bool:
    return any(part in whole for part in _PARTS)


def mask_secrets(value: Any, name: str = "") -> Any:
    """The same tree with every secret text replaced, by name or value; unset ones stay unset."""
    if isinstance(value, Mapping):
        return {str(key): mask_secrets(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [mask_secrets(item, name) for item in value]
    is_hidden = bool(value) and isinstance(value, str) and (is_secret(name) or has_password(value))
    return MASK if is_hidden else value
