"""Experiment configurations as others may see them: secrets replaced by asterisks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MASK = "********"
STORAGE_SECRETS = ("access_key", "secret_key", "connection_string", "credential")
REGISTRY_SECRETS = ("password", "identitytoken", "auth")


def mask_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without the credentials of storage and registry and the values of `data.secrets`.

    Everybody may read experiments; only tasks are given what these unlock. What is not set
    stays unset, so that it can be seen.
    """
    masked = dict(config)
    storage = config.get("checkpoint_storage")
    if isinstance(storage, Mapping):
        masked["checkpoint_storage"] = _without(storage, STORAGE_SECRETS)
    environment = config.get("environment")
    if isinstance(environment, Mapping) and isinstance(environment.get("registry_auth"), Mapping):
        auth = _without(environment["registry_auth"], REGISTRY_SECRETS)
        masked["environment"] = {**environment, "registry_auth": auth}
    data = config.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("secrets"), Mapping):
        masked["data"] = {**data, "secrets": dict.fromkeys(data["secrets"], MASK)}
    return masked


def _without(values: Mapping[str, Any], secrets: tuple[str, ...]) -> dict[str, Any]:
    return {key: MASK if key in secrets and value else value for key, value in values.items()}
