"""Masks the secrets of experiment configurations before others see them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_wire.masking import MASK, REGISTRY_SECRETS, STORAGE_SECRETS

PACHYDERM = ("integrations", "pachyderm", "dataset")


def mask_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """A copy without the credentials of storage, registry and Pachyderm, and `data.secrets`.

    Everybody may read experiments; only tasks get their secrets. An unset value stays unset, so
    that readers see that it is unset.
    """
    masked = mask_but_storage(config)
    storage = config.get("checkpoint_storage")
    if isinstance(storage, Mapping):
        masked["checkpoint_storage"] = _without(storage, STORAGE_SECRETS)
    return masked


def mask_but_storage(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the storage unmasked: clients download checkpoints with it."""
    masked = dict(config)
    environment = config.get("environment")
    if isinstance(environment, Mapping) and isinstance(environment.get("registry_auth"), Mapping):
        auth = _without(environment["registry_auth"], REGISTRY_SECRETS)
        masked["environment"] = {**environment, "registry_auth": auth}
    data = config.get("data")
    if isinstance(data, Mapping) and isinstance(data.get("secrets"), Mapping):
        masked["data"] = {**data, "secrets": dict.fromkeys(data["secrets"], MASK)}
    dataset = _find(config, PACHYDERM)
    if isinstance(dataset, Mapping) and dataset.get("token"):
        masked = _with(masked, PACHYDERM, {**dataset, "token": MASK})
    return masked


def without_storage_keys(config: Mapping[str, Any]) -> dict[str, Any]:
    """`mask_but_storage` with null for the storage's keys.

    A client that finds no keys downloads through the master; one that finds a mask fails.
    """
    masked = mask_but_storage(config)
    storage = config.get("checkpoint_storage")
    if isinstance(storage, Mapping):
        hidden = {key: None for key in STORAGE_SECRETS if key in storage}
        masked["checkpoint_storage"] = {**storage, **hidden}
    return masked


def mask_storage(storage: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of a storage section without its credentials."""
    return _without(storage, STORAGE_SECRETS)


def keep_masked(given: Mapping[str, Any], stored: Mapping[str, Any] | None) -> dict[str, Any]:
    """A submitted storage section in which each mask is replaced by the stored secret.

    A user who sends back masked values wants to change something else.
    """
    known = stored or {}
    return {
        key: known[key] if key in STORAGE_SECRETS and value == MASK and key in known else value
        for key, value in given.items()
    }


def keep_masked_config(given: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, Any]:
    """`keep_masked` for everything that `mask_config` masks."""
    kept = dict(given)
    sections = ("checkpoint_storage",), ("environment", "registry_auth"), ("data", "secrets")
    for path in (*sections, PACHYDERM):
        section, known = _find(given, path), _find(stored, path) or {}
        if isinstance(section, Mapping):
            real = {k: known[k] if v == MASK and k in known else v for k, v in section.items()}
            kept = _with(kept, path, real)
    return kept


def _with(config: Mapping[str, Any], path: tuple[str, ...], section: Any) -> dict[str, Any]:
    """A copy with another section at an existing path."""
    inner = section if len(path) == 1 else _with(config[path[0]], path[1:], section)
    return {**config, path[0]: inner}


def _find(config: Any, path: tuple[str, ...]) -> Any:
    for key in path:
        config = config.get(key) if isinstance(config, Mapping) else None
    return config


def _without(values: Mapping[str, Any], secrets: tuple[str, ...]) -> dict[str, Any]:
    return {key: MASK if key in secrets and value else value for key, value in values.items()}
