"""Each number of a configuration that becomes rows, events or memory has a limit."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import fields, replace
from tests.domain.config.builders import LAYERS, problems
from tests.domain.config.tasks import build as build_task

from determined_master.domain.config.sizes import _BOUNDS, ConfigLimits
from determined_master.domain.config.task import TaskErrors

RANDOM = {"name": "random", "metric": "loss"}


def nested(depth: int) -> dict[str, Any]:
    """A group in a group in a group, and so on."""
    space: dict[str, Any] = {"x": 1}
    for _ in range(depth - 1):
        space = {"g": space}
    return space


def mount(n: int) -> dict[str, str]:
    return {"host_path": "/data", "container_path": f"/data{n}"}


AT_LIMITS: dict[str, Any] = {
    "searcher": {**RANDOM, "max_trials": 10_000, "max_concurrent_trials": 2**31 - 1},
    "max_restarts": 1000,
    "preemption_timeout": 315_360_000,
    "resources": {
        "slots_per_trial": 10_000,
        "devices": [{"host_path": "/d", "container_path": f"/d{n}"} for n in range(100)],
    },
    "environment": {
        "proxy_ports": [{"proxy_port": 1000 + n} for n in range(32)],
        "ports": {f"p{n}": 1000 + n for n in range(100)},
        "environment_variables": [f"V{n}=1" for n in range(1000)],
        "add_capabilities": [f"C{n}" for n in range(100)],
    },
    "bind_mounts": [mount(n) for n in range(100)],
    "labels": [f"l{n}" for n in range(100)],
    "integrations": {"webhooks": {"webhook_id": [1] * 100, "webhook_name": ["a"] * 100}},
    "hyperparameters": {f"h{n}": n for n in range(2000)},
}


def test_a_configuration_at_the_limits_is_allowed() -> None:
    assert problems(**AT_LIMITS) == []
    assert problems(hyperparameters=nested(32)) == []


@pytest.mark.parametrize(
    ("wrong", "found"),
    [
        (
            {"searcher": {**RANDOM, "max_trials": 2**31 - 1}},
            "searcher.max_trials: is 2,147,483,647, at most 10,000 allowed: lower it, or ask an "
            "admin to raise config_limits.max_trials",
        ),
        (
            {"max_restarts": 2**63 - 1},
            "max_restarts: is 9,223,372,036,854,775,807, at most 1,000 ",
        ),
        ({"preemption_timeout": 2**62}, "preemption_timeout: is 4,611,686,018,427,387,904, at "),
        ({"resources": {"slots_per_trial": 10_001}}, "resources.slots_per_trial: is 10,001, at "),
        (
            {"environment": {"ports": {f"p{n}": 1 for n in range(101)}}},
            "environment.ports: has 101 ports, at most 100 allowed",
        ),
        (
            {"environment": {"environment_variables": {"cuda": ["A=1"] * 1001}}},
            "environment.environment_variables: has 1,001 variables, at most 1,000 allowed",
        ),
        (
            {"environment": {"drop_capabilities": ["A"] * 101}},
            "environment.drop_capabilities: has 101 capabilities, ",
        ),
        ({"bind_mounts": [mount(n) for n in range(101)]}, "bind_mounts: has 101 mounts, at most "),
        ({"labels": [f"{n}" for n in range(101)]}, "labels: has 101 labels, at most 100 allowed"),
        (
            {"log_policies": [{"name": f"{n}", "pattern": "x"} for n in range(101)]},
            "log_policies: has 103 policies, at most 100 allowed",
        ),
        (
            {"hyperparameters": {"g": {f"{n}": n for n in range(2000)}}},
            "hyperparameters: has 2,001 hyperparameters, at most 2,000 allowed",
        ),
        ({"hyperparameters": nested(33)}, "hyperparameters: is 33 groups deep, at most 32 "),
        ({"hyperparameters": {"a": "x" * 2**18}}, "hyperparameters: takes 262,"),
        ({"data": {"a": "x" * 2**20}}, ": takes 1,0"),
        (
            {"hyperparameters": {f"g{g}": {f"{n}": n for n in range(500)} for g in range(5)}},
            "hyperparameters: has 2,505 hyperparameters, at most 2,000 allowed",
        ),
    ],
)
def test_a_larger_number_names_the_key_the_value_the_limit_and_the_setting(
    wrong: dict[str, Any], found: str
) -> None:
    [line] = problems(**wrong)
    assert line.startswith(found), line
    assert line.rpartition("config_limits.")[2] in {f.name for f in fields(ConfigLimits)}


def test_a_setting_raises_a_limit() -> None:
    layers = replace(LAYERS, limits=ConfigLimits(max_trials=20_000))
    assert problems(layers, searcher={**RANDOM, "max_trials": 20_000}) == []


def test_tasks_have_the_same_limits() -> None:
    with pytest.raises(TaskErrors, match=r"resources\.slots: is 10,001, .*config_limits\.max_sl"):
        build_task("command", {"entrypoint": ["a"], "resources": {"slots": 10_001}})
    mounts = [mount(n) for n in range(101)]
    with pytest.raises(TaskErrors, match=r"bind_mounts: has 101 mounts"):
        build_task("command", {"entrypoint": ["a"], "bind_mounts": mounts})


def test_each_limit_bounds_a_key_or_the_search() -> None:
    of_search = {"max_rungs", "max_brackets", "max_waiting_trials"}
    assert {bound.limit for bound in _BOUNDS} | of_search == {f.name for f in fields(ConfigLimits)}
