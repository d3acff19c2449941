"""Small valid configurations that tests vary."""

from __future__ import annotations

from typing import Any

from determined_master.domain.config.experiment import (
    BuiltExperiment,
    ConfigErrors,
    ConfigLayers,
    PoolLayer,
    build_experiment,
)

STORAGE = {"type": "shared_fs", "host_path": "/shared", "storage_path": "checkpoints"}
LAYERS = ConfigLayers(
    checkpoint_storage=STORAGE,
    pools={"default": PoolLayer(), "aux": PoolLayer(default_priority=50)},
    default_aux_pool="aux",
)
ASHA = {
    "name": "adaptive_asha",
    "metric": "loss",
    "max_trials": 16,
    "time_metric": "batches",
    "max_time": 256,
}


def submission(**overrides: Any) -> dict[str, Any]:
    """A configuration with one trial and nothing else."""
    base: dict[str, Any] = {
        "entrypoint": "python3 train.py",
        "searcher": {"name": "single", "metric": "loss"},
    }
    return {**base, **overrides}


def build(layers: ConfigLayers = LAYERS, **overrides: Any) -> BuiltExperiment:
    """What the master makes of it."""
    return build_experiment(submission(**overrides), layers=layers, seed=7, name="Experiment (x)")


def problems(layers: ConfigLayers = LAYERS, **overrides: Any) -> list[str]:
    """What it finds wrong with it: each line without the root of its path."""
    try:
        build(layers, **overrides)
    except ConfigErrors as e:
        return [f"{p.path.removeprefix('<config>').lstrip('.')}: {p.text}" for p in e.problems]
    return []
