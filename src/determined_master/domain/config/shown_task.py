"""The configuration of an interactive task as users see it. PURE.

Empty values and values that cannot be set are null, so that users can submit a shown configuration
again. Source: wire 7.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from determined_master.domain.config.masking import mask_config

_NULL_WHEN_EMPTY = ("add_capabilities", "drop_capabilities", "ports", "proxy_ports")


def shown_task_config(
    config: Mapping[str, Any], entrypoint: Sequence[str] | None = None
) -> dict[str, Any]:
    """A copy without secrets.

    Args:
        config: as `build_task` gives it.
        entrypoint: the command of kinds that have their own.
    """
    shown = mask_config(config)
    environment = dict(shown["environment"])
    for key in _NULL_WHEN_EMPTY:
        environment[key] = environment.get(key) or None
    variables = environment.get("environment_variables") or {}
    environment["environment_variables"] = variables if any(variables.values()) else {}
    if not environment.get("registry_auth"):
        environment.pop("registry_auth", None)
    resources = dict(shown["resources"])
    resources["devices"] = resources.get("devices") or None
    resources["is_single_node"] = None
    return {
        **shown,
        "bind_mounts": shown.get("bind_mounts") or None,
        "entrypoint": shown.get("entrypoint") or (list(entrypoint) if entrypoint else None),
        "environment": environment,
        "resources": resources,
    }
