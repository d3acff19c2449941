"""Names that are secrets, and their masking in configurations that are printed.

It follows `determined_wire/masking.py`, which the client cannot import; a test compares both.
"""

from __future__ import annotations

import re
from typing import Any, Dict, Mapping

MASK = "********"
_STORAGE_SECRETS = ("access_key", "secret_key", "connection_string", "credential")
_REGISTRY_SECRETS = ("password", "identitytoken", "registrytoken", "auth")
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


def mask_checkpoint_storage(d: Mapping[str, Any]) -> Dict[str, Any]:
    """A copy of a `checkpoint_storage` with masked credentials."""
    return {k: MASK if k in _STORAGE_SECRETS and v is not None else v for k, v in d.items()}


def mask_config_dict(d: Mapping[str, Any]) -> Dict[str, Any]:
    """A copy of an experiment's configuration with masked secrets.

    Secrets are the credentials of storage, registry and Pachyderm, and every value under
    `data.secrets`.
    """
    masked = dict(d)
    if isinstance(d.get("checkpoint_storage"), Mapping):
        masked["checkpoint_storage"] = mask_checkpoint_storage(d["checkpoint_storage"])
    environment = d.get("environment")
    if isinstance(environment, Mapping) and isinstance(environment.get("registry_auth"), Mapping):
        auth = dict(environment["registry_auth"])
        auth.update({k: MASK for k in _REGISTRY_SECRETS if auth.get(k)})
        masked["environment"] = {**environment, "registry_auth": auth}
    data = d.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("secrets"), Mapping):
        masked["data"] = {**data, "secrets": dict.fromkeys(data["secrets"], MASK)}
    integrations = d.get("integrations")
    if isinstance(integrations, Mapping):
        masked["integrations"] = _without_token(integrations)
    return masked


def _without_token(integrations: Mapping[str, Any]) -> Dict[str, Any]:
    pachyderm = integrations.get("pachyderm")
    dataset = pachyderm.get("dataset") if isinstance(pachyderm, Mapping) else None
    if not isinstance(pachyderm, Mapping) or not isinstance(dataset, Mapping):
        return dict(integrations)
    hidden = {**dataset, "token": MASK} if dataset.get("token") else dataset
    return {**integrations, "pachyderm": {**pachyderm, "dataset": hidden}}
