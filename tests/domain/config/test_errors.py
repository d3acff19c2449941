"""How mistakes are told: all at once, sorted, with what is only missing told apart."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace
from tests.covers import covers
from tests.domain.config.builders import LAYERS, build, problems

from determined_master.domain.config.experiment import ConfigErrors, ConfigLayers, build_experiment
from determined_master.domain.config.schema.problems import HINTED, MAX_KEPT
from determined_master.domain.config.sizes import ConfigLimits

GRID = {"name": "grid", "metric": "loss"}


@covers("experiment-config 1.all_at_once 1.prefix 1.3")
def test_all_mistakes_are_reported_at_once_sorted_by_path() -> None:
    with pytest.raises(ConfigErrors) as caught:
        build(resources={"slots_per_trial": -1, "priority": 500}, checkpoint_policy="zip", bogus=1)
    head, *lines = str(caught.value).split("\n")
    prefix = "invalid experiment configuration: version 0 experiment config is invalid: "
    assert head == prefix + 'config is invalid: <config>: additionalProperties "bogus" not allowed'
    assert [line.split(":")[0] for line in lines] == [
        "<config>.checkpoint_policy",
        "<config>.resources.priority",
        "<config>.resources.slots_per_trial",
    ]


@covers("experiment-config 1.7 25.missing")
def test_missing_keys_are_reported_as_incomplete() -> None:
    with pytest.raises(ConfigErrors, match="config is invalid or incomplete: <config>: searcher"):
        build(searcher=None)


@pytest.mark.parametrize(("value", "name"), [(None, "null"), ([], "array"), ("x", "string")])
def test_a_configuration_that_is_no_object_is_named_as_such(value: Any, name: str) -> None:
    with pytest.raises(ConfigErrors, match=f"<config>: expected object, but got {name}"):
        build_experiment(value, layers=LAYERS, seed=1, name="x")


@covers("experiment-config 2.checkpoint_storage")
def test_without_any_checkpoint_storage_the_configuration_is_incomplete() -> None:
    found = problems(ConfigLayers())
    assert found == [": checkpoint_storage is a required property"]


@covers("experiment-config 1.eventually")
def test_a_grid_of_a_million_points_can_be_allowed_and_a_larger_one_names_its_size() -> None:
    axes = {n: {"type": "double", "minval": 0, "maxval": 1, "count": 10**3} for n in "abcd"}
    million = dict(list(axes.items())[:2])
    allowing = replace(LAYERS, limits=ConfigLimits(max_trials=10**6))
    assert problems(allowing, searcher=GRID, hyperparameters=million) == []
    [found] = problems(allowing, searcher=GRID, hyperparameters=axes)
    assert "the grid has 1,000,000,000,000 points" in found


LONG = 16**5000
"""More digits than Python writes of an integer."""


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"max_restarts": LONG}, "max_restarts: must be <= "),
        ({"hyperparameters": {"a": -LONG}}, "hyperparameters.a: must fit in 64 bits"),
        ({"data": {"a": [LONG]}}, "data.a[0]: must fit in 64 bits"),
        ({"resources": {"weight": LONG}}, "resources.weight: must be a finite number"),
        ({"resources": {"shm_size": "9" * 5000 + "g"}}, "resources.shm_size: must be <= "),
    ],
)
def test_long_numbers_are_shown_by_their_number_of_digits(
    wrong: dict[str, Any], told: str
) -> None:
    [found] = problems(**wrong)
    assert found.startswith(told)
    assert re.search(r"but found a number of about (6021|5010) digits$", found), found


def test_a_grid_with_an_unprintable_number_of_points_is_reported() -> None:
    axis = {"type": "double", "minval": 0, "maxval": 1, "count": 2**62}
    axes = {f"a{n}": axis for n in range(300)}
    [found] = problems(searcher=GRID, hyperparameters=axes)
    assert "the grid has about 10^5599 points, at most 10,000 allowed" in found


def test_only_the_first_mistakes_are_searched_for_what_was_meant_and_a_thousand_are_kept() -> None:
    found = problems(**{f"entrypoint{n}": 1 for n in range(3000)})
    assert sum('did you mean "entrypoint"' in line for line in found) == HINTED
    assert len(found) == MAX_KEPT
    [line] = problems(**{"x" * 100_000: 1})
    assert line == f': additionalProperties "{"x" * 80}…" not allowed'


def test_further_mistakes_are_counted() -> None:
    with pytest.raises(ConfigErrors, match=r"\nand 800 more, or still more than that$"):
        build(**{f"key{n}": 1 for n in range(1500)})
    with pytest.raises(ConfigErrors, match=r"\nand 50 more$"):
        build(**{f"key{n}": 1 for n in range(250)})


@covers("experiment-config 2.entrypoint 3.null")
def test_a_detached_experiment_needs_no_entrypoint() -> None:
    submitted = {"searcher": {"name": "single", "metric": "loss"}}
    built = build_experiment(submitted, layers=LAYERS, seed=1, name="x", is_managed=False)
    assert built.config["entrypoint"] is None
