"""Configurations of tasks: what only some kinds have (experiment-config 22, 23)."""

from __future__ import annotations

from datetime import timedelta

import pytest
from tests.covers import covers
from tests.domain.config.tasks import (
    INTERACTIVE,
    build,
    layers,
    problems,
)

# Interactive tasks.


@covers("experiment-config 22.description")
@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("command", "Command (calm-red-wren)"),
        ("notebook", "JupyterLab (calm-red-wren)"),
        ("shell", "Shell (calm-red-wren)"),
        ("tensorboard", "TensorBoard (calm-red-wren)"),
    ],
)
def test_a_description_is_made_by_kind(kind: str, name: str) -> None:
    assert build(kind).config["description"] == name
    said = build(kind, {"description": "mine"}).config["description"]
    assert said == (name if kind == "tensorboard" else "mine")


@covers("experiment-config 22.resources.is_single_node")
@pytest.mark.parametrize("kind", INTERACTIVE)
@pytest.mark.parametrize("said", [True, False])
def test_an_interactive_task_always_runs_on_one_agent(kind: str, said: bool) -> None:
    assert build(kind).typed.is_single_node is True
    [text] = problems(kind, {"resources": {"is_single_node": said}})
    assert text.startswith("resources.is_single_node: cannot be set")


@covers("experiment-config 22.tensorboard_args")
def test_further_words_for_tensorboard_are_a_list() -> None:
    words = ["--samples_per_plugin", "images=100"]
    built = build("tensorboard", {"tensorboard_args": words})
    assert built.config["tensorboard_args"] == words
    assert "tensorboard_args" not in build("tensorboard").config
    assert problems("tensorboard", {"tensorboard_args": "x"}) == [
        "tensorboard_args: expected array or null, but got string"
    ]


@covers("experiment-config 22.idle_timeout")
@pytest.mark.parametrize(
    ("given", "length", "shown"),
    [
        ("30s", timedelta(seconds=30), "30s"),
        ("1h", timedelta(hours=1), "1h0m0s"),
        ("1m30s", timedelta(seconds=90), "1m30s"),
        (300, timedelta(minutes=5), "5m0s"),
        ("500ms", timedelta(milliseconds=500), "0.5s"),
    ],
)
def test_an_idle_timeout_is_a_length_of_time(given, length, shown) -> None:
    for kind in ("notebook", "tensorboard"):
        built = build(kind, {"idle_timeout": given}, idle_timeout=timedelta(days=1))
        assert built.typed.idle_timeout == length
        assert built.config["idle_timeout"] == shown


@covers("experiment-config 22.idle_timeout")
@pytest.mark.parametrize("given", ["soon", "0s", -5, True, "5"])
def test_an_invalid_duration_is_refused(given: object) -> None:
    [said] = problems("notebook", {"idle_timeout": given})
    assert said.startswith("idle_timeout: ")


@covers("experiment-config 22.idle_timeout")
@pytest.mark.parametrize("kind", ["command", "shell"])
def test_commands_and_shells_end_by_themselves(kind: str) -> None:
    built = build(kind, {"idle_timeout": "1h"}, idle_timeout=timedelta(hours=1))
    assert built.typed.idle_timeout is None
    assert "has no effect" in built.warnings[0]


@covers("experiment-config 26.notebook_timeout 22.idle_timeout")
def test_a_notebook_ends_only_when_somebody_has_set_a_time() -> None:
    assert build("notebook").typed.idle_timeout is None
    assert build("notebook").config["idle_timeout"] is None
    of_cluster = build("notebook", idle_timeout=timedelta(minutes=20))
    assert of_cluster.config["idle_timeout"] == "20m0s"


@covers("experiment-config 22.notebook_idle_type")
def test_there_are_three_ways_to_use_a_notebook() -> None:
    assert build("notebook").config["notebook_idle_type"] == "kernels_or_terminals"
    for word in ("kernels_or_terminals", "kernel_connections", "activity"):
        built = build("notebook", {"notebook_idle_type": word})
        assert built.config["notebook_idle_type"] == word
    [said] = problems("notebook", {"notebook_idle_type": "never"})
    assert "must be one of" in said
    assert '"activity" but found "never"' in said


@covers("experiment-config 23.resources")
def test_a_generic_task_may_span_agents() -> None:
    assert build("generic").typed.is_single_node is True
    spread = build("generic", {"resources": {"slots": 8, "is_single_node": False}})
    assert (spread.typed.slots, spread.typed.is_single_node) == (8, False)


@covers("experiment-config 23.preemption_timeout")
def test_a_generic_task_has_time_to_leave() -> None:
    assert build("generic").typed.preemption_timeout_s == 3600
    cluster = layers(task_container_defaults={"preemption_timeout": 5})
    assert build("generic", cluster=cluster).typed.preemption_timeout_s == 5
    own = build("generic", {"preemption_timeout": 0}, cluster=cluster)
    assert own.typed.preemption_timeout_s == 0
    assert problems("generic", {"preemption_timeout": -1}) == [
        "preemption_timeout: must be >= 0 but found -1"
    ]
