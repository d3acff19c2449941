"""Configurations of tasks that are no trials, for tests."""

from __future__ import annotations

from typing import Any

import pytest

from determined_master.domain.config.experiment import ConfigLayers, PoolLayer
from determined_master.domain.config.task import (
    BuiltTask,
    TaskErrors,
    TaskOptions,
    build_task,
)

POOLS = {"compute": PoolLayer(), "aux": PoolLayer(default_priority=50)}


KINDS = ["command", "notebook", "shell", "tensorboard", "generic"]


INTERACTIVE = KINDS[:4]


WITH_SLOTS = ["command", "notebook", "shell", "generic"]


OWN_COMMAND = ("command", "generic")


each_kind = pytest.mark.parametrize("kind", KINDS)


def layers(**overrides: Any) -> ConfigLayers:
    base = {"pools": POOLS, "default_compute_pool": "compute", "default_aux_pool": "aux"}
    return ConfigLayers(**{**base, **overrides})


def build(
    kind: Any,
    given: dict[str, Any] | None = None,
    *,
    cluster: ConfigLayers | None = None,
    **options: Any,
) -> BuiltTask:
    """What the master makes of it; commands get one to run unless they name it."""
    least = {"entrypoint": ["ls"]} if kind in OWN_COMMAND else {}
    chosen = TaskOptions(**{"name": "calm-red-wren", **options})
    submitted = {**least, **(given or {})}
    return build_task(kind, submitted, layers=cluster or layers(), options=chosen)


def problems(kind: Any, given: dict[str, Any], **options: Any) -> list[str]:
    with pytest.raises(TaskErrors) as caught:
        build(kind, given, **options)
    return [f"{p.path.removeprefix('<config>.')}: {p.text}" for p in caught.value.problems]


def environment_of(built: BuiltTask) -> dict[str, Any]:
    found: dict[str, Any] = built.config["environment"]
    return found
