"""Every key of every configuration says what it decides."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.key_effects import (
    KEY_EFFECTS,
    closed_paths,
    effect_of,
    harmless_part,
)
from determined_master.domain.config.schema.containers import Object, Tagged
from determined_master.domain.config.schema.values import ValueType
from determined_master.domain.config.task_schema import GENERIC, INTERACTIVE


def leaves(kind: ValueType, at: str = "") -> Iterator[str]:
    """The dotted paths of all keys without keys of their own."""
    if isinstance(kind, Tagged):
        for variant in kind.variants.values():
            yield from leaves(variant, at)
    elif isinstance(kind, Object):
        for key, field in kind.fields.items():
            yield from leaves(field.kind, f"{at}.{key}" if at else key)
    else:
        yield at


PATHS = sorted({p for schema in (EXPERIMENT, INTERACTIVE, GENERIC) for p in leaves(schema)})


def is_listed(path: str) -> bool:
    return any(path == known or path.startswith(f"{known}.") for known in KEY_EFFECTS)


def test_every_key_of_experiments_and_tasks_is_listed() -> None:
    assert [path for path in PATHS if not is_listed(path)] == []


def test_every_listed_key_exists() -> None:
    strange = [
        known
        for known in KEY_EFFECTS
        if not any(p == known or p.startswith(f"{known}.") for p in PATHS)
    ]
    assert strange == []


def test_a_key_that_nobody_has_listed_is_closed() -> None:
    assert effect_of("environment.hooks") == "runs"
    assert list(closed_paths({"startup_hook": "x", "environment": {"hooks": 1}})) == [
        "startup_hook",
        "environment.hooks",
    ]


@pytest.mark.parametrize(
    "path",
    [
        "entrypoint",
        "environment.image",
        "environment.environment_variables",
        "environment.pod_spec",
        "environment.registry_auth",
        "environment.add_capabilities",
        "environment.proxy_ports",
        "bind_mounts",
        "resources.devices",
        "checkpoint_storage.host_path",
        "checkpoint_storage.bucket",
        "checkpoint_storage.endpoint_url",
        "searcher.source_checkpoint_uuid",
        "searcher.source_trial_id",
        "slurm.sbatch_args",
        "pbs.pbsbatch_args",
        "work_dir",
        "hyperparameters",
        "integrations.webhooks.webhook_name",
    ],
)
def test_keys_that_run_read_or_send_are_closed(path: str) -> None:
    assert effect_of(path) != "harmless"


@pytest.mark.parametrize(
    "path",
    [
        "max_restarts",
        "resources.slots_per_trial",
        "resources.resource_pool",
        "checkpoint_storage.save_trial_best",
        "log_policies",
        "searcher.max_trials",
    ],
)
def test_limits_are_harmless(path: str) -> None:
    assert effect_of(path) == "harmless"


def test_the_harmless_part_keeps_limits_beside_closed_keys() -> None:
    config = {
        "entrypoint": "x",
        "max_restarts": 1,
        "checkpoint_storage": {"type": "s3", "bucket": "b", "save_trial_best": 2},
        "environment": {"image": "i", "force_pull_image": True},
        "searcher": None,
    }
    assert list(closed_paths(config)) == [
        "entrypoint",
        "checkpoint_storage.type",
        "checkpoint_storage.bucket",
        "environment.image",
    ]
    part = harmless_part(config)
    assert part["max_restarts"] == 1
    assert part["checkpoint_storage"] == {"save_trial_best": 2}
    assert part["environment"] == {"force_pull_image": True}
    assert "entrypoint" not in part
    assert list(closed_paths(part)) == []
