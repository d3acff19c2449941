"""Names that are secrets, and their masking in configurations that are printed.

It follows `determined_wire/masking.py`, which the client cannot import; a test compares both.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping

MASK = "********"
_STORAGE_SECRETS = ("access_key", "secret_key", "connection_string", "credential")
_REGISTRY_SECRETS = ("password", "identitytoken", "registrytoken", "auth")
_WORDS = ("password", "secret", "token", "private_key", "access_key", "credential")


def is_secret(name: str) -> bool:
    """Whether a text under this name is a secret; the name of a file that holds one is none."""
    has_word = any(word in name.lower() for word in _WORDS)
    is_file = name.endswith("_file")
    return name in (*_STORAGE_SECRETS, *_REGISTRY_SECRETS) or (has_word and not is_file)


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
