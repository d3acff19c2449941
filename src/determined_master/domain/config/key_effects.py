"""The effect of each key of a configuration, which decides who may set it for other users.

Work runs with its owner's tokens and files. A key that decides what runs, what a task reads, or
where something is sent therefore belongs to the owner of the work. For others only an admin of the
cluster sets it. Limits, and values that cannot do more than slow work down, are harmless:
the owner of a workspace may set them for everybody who works there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

Effect = Literal["harmless", "runs", "reads", "sends"]

KEY_EFFECTS: Mapping[str, Effect] = {
    # Programs: the command, its modules and its arguments.
    "entrypoint": "runs",
    "work_dir": "runs",
    "tensorboard_args": "runs",
    "hyperparameters": "runs",
    "data": "runs",
    "environment.image": "runs",
    "environment.force_pull_image": "harmless",
    "environment.environment_variables": "runs",
    "environment.pod_spec": "runs",
    "environment.add_capabilities": "runs",
    "environment.drop_capabilities": "runs",  # an empty list takes the cluster's away
    "optimizations": "harmless",
    "optimizations.grad_updates_size_file": "reads",
    "slurm": "runs",
    "pbs": "runs",
    # Files, devices and credentials.
    "bind_mounts": "reads",
    "resources.devices": "reads",
    "environment.registry_auth": "reads",
    "security": "reads",
    "data_layer": "reads",
    "internal": "reads",
    "searcher.source_trial_id": "reads",
    "searcher.source_checkpoint_uuid": "reads",
    # Where results, events and connections go.
    "checkpoint_storage": "sends",
    "checkpoint_storage.save_experiment_best": "harmless",
    "checkpoint_storage.save_trial_best": "harmless",
    "checkpoint_storage.save_trial_latest": "harmless",
    "tensorboard_storage": "sends",
    "environment.ports": "sends",
    "environment.proxy_ports": "sends",
    "integrations": "sends",
    # A place among others: creating or moving work there is checked by itself.
    "workspace": "harmless",
    "project": "harmless",
    # Names, limits and choices between things of the platform.
    "name": "harmless",
    "description": "harmless",
    "labels": "harmless",
    "searcher": "harmless",
    "resources": "harmless",
    "checkpoint_policy": "harmless",
    "perform_initial_validation": "harmless",
    "max_restarts": "harmless",
    "preemption_timeout": "harmless",
    "log_policies": "harmless",
    "retention_policy": "harmless",
    "reproducibility": "harmless",
    "profiling": "harmless",
    "debug": "harmless",
    "scheduling_unit": "harmless",
    "records_per_epoch": "harmless",
    "min_validation_period": "harmless",
    "min_checkpoint_period": "harmless",
    "idle_timeout": "harmless",
    "notebook_idle_type": "harmless",
}
"""By dotted path, for experiments and for all other tasks. A path stands for all keys below it,
except for those that are listed themselves."""

UNKNOWN: Effect = "runs"
"""A key that is not listed: the safe answer."""


def effect_of(path: str) -> Effect:
    """The effect of a key, by its dotted path."""
    while path:
        if path in KEY_EFFECTS:
            return KEY_EFFECTS[path]
        path = path.rpartition(".")[0]
    return UNKNOWN


def closed_paths(config: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """The keys of a partial configuration that only its own user or an admin may set."""
    for key, value in config.items():
        path = f"{at}.{key}" if at else str(key)
        if value is None:
            continue
        if _is_divided(path) and isinstance(value, Mapping):
            yield from closed_paths(value, path)
        elif effect_of(path) != "harmless":
            yield path


def harmless_part(config: Mapping[str, Any], at: str = "") -> dict[str, Any]:
    """A partial configuration without its closed keys."""
    part: dict[str, Any] = {}
    for key, value in config.items():
        path = f"{at}.{key}" if at else str(key)
        if _is_divided(path) and isinstance(value, Mapping):
            part[key] = harmless_part(value, path)
        elif effect_of(path) == "harmless":
            part[key] = value
    return part


def find_value(config: Any, path: str) -> Any:
    """The value at a dotted path; None where there is none."""
    for key in path.split("."):
        if not isinstance(config, Mapping):
            return None
        config = config.get(key)
    return config


def _is_divided(path: str) -> bool:
    """Whether keys below this one are listed by themselves."""
    return any(known.startswith(f"{path}.") for known in KEY_EFFECTS)
