"""What a trial's container is told."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import build

from determined_master.domain.task.containers import (
    HostMount,
    shared_directory,
    typed_containers,
)
from determined_master.domain.task.spec import TrialRun, trial_environment


def run(**overrides: Any) -> TrialRun:
    fields = {
        "experiment_id": 1,
        "trial_id": 2,
        "run_id": 1,
        "seed": 7,
        "config": {},
        "hparams": {},
    }
    return TrialRun(**{**fields, **overrides})


@covers("experiment-config 10.trial")
def test_every_run_of_a_trial_has_its_seed() -> None:
    seeds = [trial_environment(run(run_id=n), {})["DET_TRIAL_SEED"] for n in (1, 2, 5)]
    assert seeds == ["7", "7", "7"]


@covers("experiment-config 2.debug")
def test_the_harness_of_an_experiment_with_debug_gets_the_variable() -> None:
    assert "DET_DEBUG" not in trial_environment(run(config={"debug": False}), {})
    assert trial_environment(run(config={"debug": True}), {})["DET_DEBUG"] == "true"


@covers("experiment-config 12.environment_variables 24.gpu")
def test_a_container_gets_the_variables_of_its_devices_later_ones_winning() -> None:
    given = {"cpu": ["A=1", "A=2"], "gpu": ["A=3", "B=x=y"]}
    config = build(environment={"environment_variables": given}).config
    containers = typed_containers(config)
    assert containers.variables_of("cpu") == {"A": "2"}
    assert containers.variables_of("cuda") == {"A": "3", "B": "x=y"}


@covers("experiment-config 17.resume")
def test_a_run_after_a_checkpoint_gets_its_uuid() -> None:
    first = trial_environment(run(), {})
    assert "DET_LATEST_CHECKPOINT" not in first
    later = trial_environment(run(run_id=2, steps_completed=9, latest_checkpoint="u"), {})
    assert (later["DET_LATEST_CHECKPOINT"], later["DET_STEPS_COMPLETED"]) == ("u", "9")


@covers("experiment-config 14.shared_fs_mount 14.shared_fs")
@pytest.mark.parametrize("propagation", ["rprivate", "rshared"])
def test_a_shared_directory_is_mounted_at_its_fixed_place(propagation: str) -> None:
    storage = {"type": "shared_fs", "host_path": "/nfs", "propagation": propagation}
    completed = build(checkpoint_storage=storage).config["checkpoint_storage"]
    assert shared_directory(completed) == HostMount(
        host_path="/nfs",
        container_path="/determined_shared_fs",
        propagation=propagation,
        if_missing="fail",
    )
    created = shared_directory({**completed, "create": True})
    assert created is not None
    assert created.if_missing == "create"
    assert shared_directory({"type": "s3", "bucket": "b"}) is None
