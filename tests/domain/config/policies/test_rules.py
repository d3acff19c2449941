"""Config policies: what wins over users, what bounds them, and what admins may not write."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import LAYERS, STORAGE, build

from determined_master.domain.config.experiment import ConfigErrors, ConfigLayers, PoolLayer
from determined_master.domain.config.policies.rules import (
    Policies,
    Policy,
    check_change,
    check_constraints,
)
from determined_master.domain.config.policies.text import (
    check_policies,
    read_policy,
    workload_type,
)
from determined_master.domain.errors import FailedPrecondition, InvalidArgument

CLUSTER = "the cluster"
SPACE = "workspace 'vision'"


def layers(*levels: Policy, pools: dict[str, PoolLayer] | None = None) -> ConfigLayers:
    return ConfigLayers(
        checkpoint_storage=STORAGE,
        pools=LAYERS.pools if pools is None else pools,
        policies=Policies(levels=levels),
    )


def policy(scope: str = CLUSTER, **fields: Any) -> Policy:
    return Policy(scope=scope, **fields)


def refusal(submitted: Any, workload: Any = "EXPERIMENT", above: Policy | None = None) -> str:
    scope = SPACE if above else CLUSTER
    with pytest.raises(InvalidArgument) as caught:
        check_policies(submitted, workload, scope=scope, above=above)
    return str(caught.value)


@covers("experiment-config 19.precedence 18.layer.1")
def test_the_cluster_wins_over_the_workspace_and_the_workspace_over_the_user() -> None:
    cluster = policy(invariant_config={"resources": {"weight": 3}})
    space = policy(SPACE, invariant_config={"resources": {"weight": 2, "priority": 60}})
    built = build(layers(cluster, space), resources={"weight": 1, "priority": 1, "max_slots": 9})
    resources = built.config["resources"]
    assert (resources["weight"], resources["priority"], resources["max_slots"]) == (3, 60, 9)


@covers("experiment-config 19.precedence")
def test_constraints_of_the_cluster_replace_those_of_the_workspace_one_by_one() -> None:
    cluster = policy(max_slots=2)
    space = policy(SPACE, max_slots=1, priority_limit=50)
    held = Policies(levels=(cluster, space))
    assert held.max_slots == (2, CLUSTER)
    assert held.priority_limit == (50, SPACE)
    check_constraints({"slots": 2, "priority": 50}, held)


def test_a_value_replaced_by_a_policy_gives_a_warning_without_the_value() -> None:
    secret = {"type": "s3", "bucket": "b", "access_key": "k", "secret_key": "hidden"}
    admin = layers(policy(invariant_config={"checkpoint_storage": secret, "max_restarts": 1}))
    mine = {"type": "s3", "bucket": "b", "access_key": "k", "secret_key": "mine"}
    built = build(admin, checkpoint_storage=mine, max_restarts=1)
    assert built.config["checkpoint_storage"]["secret_key"] == "hidden"
    assert built.warnings == (
        "<config>.checkpoint_storage.secret_key: is replaced by what a config policy of the "
        "cluster sets",
    )


def test_an_error_caused_by_a_policy_names_the_policy() -> None:
    admin = layers(policy(SPACE, invariant_config={"resources": {"max_slots": 2}}))
    with pytest.raises(ConfigErrors) as caught:
        build(admin, resources={"slots_per_trial": 4}, max_restarts=-1)
    [own, blamed] = [p.text for p in caught.value.problems]
    assert own == "must be >= 0 but found -1"
    assert "slots_per_trial (4) is more than max_slots (2)" in blamed
    assert "resources.max_slots is set by a config policy of workspace 'vision'" in blamed
    assert "det config-policies describe experiment" in blamed


@covers("experiment-config 19.max_slots 19.violations 1.9")
@pytest.mark.parametrize("key", ["slots_per_trial", "max_slots"])
def test_an_experiment_that_asks_for_more_slots_is_refused(key: str) -> None:
    admin = layers(policy(max_slots=4))
    assert build(admin, resources={"slots_per_trial": 4, "max_slots": 4})
    with pytest.raises(InvalidArgument) as caught:
        build(admin, resources={key: 5})
    assert str(caught.value).startswith(
        f"resource constraint: requested resources.{key} 5 exceeds the limit of 4 slots that a "
        "config policy of the cluster sets. Ask for less"
    )
    assert "det config-policies describe experiment" in str(caught.value)


@covers("experiment-config 19.priority_limit 19.violations 1.9")
def test_an_experiment_that_is_more_urgent_than_the_limit_is_refused() -> None:
    admin = layers(policy(SPACE, priority_limit=30))
    assert build(admin, resources={"priority": 30}).config["resources"]["priority"] == 30
    with pytest.raises(InvalidArgument) as caught:
        build(admin, resources={"priority": 29})
    said = str(caught.value)
    assert said.startswith(
        "priority constraint: requested resources.priority 29 exceeds the limit"
    )
    assert SPACE in said


@covers("experiment-config 19.priority_limit")
def test_where_priorities_mean_nothing_their_limit_is_only_warned_of() -> None:
    pools = {"default": PoolLayer(priorities="none")}
    built = build(layers(policy(priority_limit=30), pools=pools), resources={"priority": 1})
    assert built.config["resources"]["priority"] == 1
    assert built.warnings == (
        "<config>.resources.priority: is not bounded: pool default does not schedule by priority",
    )


@covers("experiment-config 1.9 19.violations")
def test_constraints_hold_for_what_all_layers_together_say() -> None:
    """Neither the user nor the policy has named the priority: it is the pool's."""
    pools = {"default": PoolLayer(default_priority=20)}
    with pytest.raises(InvalidArgument, match=r"resources\.priority 20 exceeds"):
        build(layers(policy(priority_limit=30), pools=pools))
    invariant = policy(invariant_config={"resources": {"slots_per_trial": 3}})
    with pytest.raises(InvalidArgument, match="slots_per_trial 3 exceeds"):
        build(layers(invariant, policy(SPACE, max_slots=2)))


@covers("experiment-config 19.invariant_config")
def test_an_invariant_config_is_checked_like_an_experiments() -> None:
    said = refusal(
        {
            "invariant_config": {
                "max_restarts": -1,
                "surprise": 1,
                "searcher": {"name": "grid", "metrc": "x"},
            }
        }
    )
    assert "<policies>.invariant_config.max_restarts: must be >= 0" in said
    assert '<policies>.invariant_config: additionalProperties "surprise" not allowed' in said
    assert 'additionalProperties "metrc" not allowed; did you mean "metric"?' in said


@covers("experiment-config 19.invariant_config")
def test_interactive_tasks_have_constraints_only() -> None:
    said = refusal({"invariant_config": {"debug": True}}, "NTSC")
    assert "not supported for workload type NTSC" in said
    given = {"constraints": {"resources": {"max_slots": 1}}}
    assert check_policies(given, "NTSC", scope=CLUSTER).max_slots == 1


@covers("experiment-config 19.max_slots")
def test_interactive_tasks_are_held_to_their_slots() -> None:
    held = Policies(levels=(policy(max_slots=1),), workload="NTSC")
    check_constraints({"slots": 1}, held)
    with pytest.raises(InvalidArgument, match=r"resources\.slots 2 exceeds.*describe tasks"):
        check_constraints({"slots": 2}, held)


@pytest.mark.parametrize(
    ("submitted", "said"),
    [
        ([], "<policies>: expected object, but got array"),
        ({}, "say something under invariant_config or constraints"),
        ({"constraints": None}, "say something under"),
        ({"invariants": {}}, 'additionalProperties "invariants" not allowed'),
        ({"constraints": {"priority_limit": 0}}, "priority_limit: must be >= 1"),
        ({"constraints": {"priority_limit": 100}}, "priority_limit: must be <= 99"),
        ({"constraints": {"resources": {"max_slots": -1}}}, "max_slots: must be >= 0"),
        ({"constraints": {"max_slots": 1}}, 'additionalProperties "max_slots" not allowed'),
        ({"invariant_config": {"workspace": "w"}}, "does not decide where experiments are put"),
        ({"invariant_config": [1]}, "invariant_config: expected object"),
    ],
)
def test_policies_of_admins_are_checked(submitted: Any, said: str) -> None:
    assert said in refusal(submitted)


@covers("experiment-config 19.conflicts")
@pytest.mark.parametrize(
    ("resources", "constraints", "said"),
    [
        ({"priority": 50}, {"priority_limit": 40}, "resources.priority: sets the limit twice"),
        (
            {"max_slots": 1},
            {"resources": {"max_slots": 1}},
            "resources.max_slots: sets the limit twice",
        ),
        (
            {"slots_per_trial": 5},
            {"resources": {"max_slots": 4}},
            "slots_per_trial: 5 is more than constraints.resources.max_slots (4)",
        ),
    ],
)
def test_a_policy_does_not_contradict_itself(resources, constraints, said: str) -> None:
    both = {"invariant_config": {"resources": resources}, "constraints": constraints}
    assert said in refusal(both)
    check_policies({"invariant_config": {"resources": resources}}, "EXPERIMENT", scope=CLUSTER)
    check_policies({"constraints": constraints}, "EXPERIMENT", scope=CLUSTER)


@covers("experiment-config 19.conflicts")
@pytest.mark.parametrize(
    ("submitted", "said"),
    [
        (
            {"constraints": {"resources": {"max_slots": 5}}},
            "5 is more than the 4 of the cluster",
        ),
        (
            {"constraints": {"priority_limit": 29}},
            "29 is more urgent than the 30 of the cluster",
        ),
        (
            {"constraints": {"resources": {"max_cost_per_hour": 12.5}}},
            "resources.max_cost_per_hour: 12.5 is more than the 12 of the cluster",
        ),
        ({"invariant_config": {"resources": {"slots_per_trial": 5}}}, "slots_per_trial 5 exceeds"),
        ({"invariant_config": {"resources": {"max_slots": 5}}}, "max_slots 5 exceeds"),
        ({"invariant_config": {"resources": {"priority": 29}}}, "priority 29 exceeds"),
    ],
)
def test_a_workspace_does_not_contradict_the_cluster(submitted: Any, said: str) -> None:
    above = policy(max_slots=4, priority_limit=30, max_cost_per_hour=12.0)
    assert said in refusal(submitted, above=above)
    check_policies(submitted, "EXPERIMENT", scope=SPACE, above=policy())


@pytest.mark.parametrize("workload", ["EXPERIMENT", "NTSC"])
def test_a_budget_is_an_amount_of_dollars(workload: Any) -> None:
    for limit in (0, -1, "many", True):
        said = refusal({"constraints": {"resources": {"max_cost_per_hour": limit}}}, workload)
        assert "<policies>.constraints.resources.max_cost_per_hour: " in said
    given = {"constraints": {"resources": {"max_cost_per_hour": 2.5}}}
    assert check_policies(given, workload, scope=SPACE).max_cost_per_hour == 2.5


@covers("experiment-config 19.updates")
def test_a_value_set_by_a_policy_cannot_be_changed_later() -> None:
    stored = {"invariant_config": {"resources": {"weight": 2}, "checkpoint_storage": STORAGE}}
    held = Policies(levels=(read_policy(stored, SPACE),))
    check_change("resources", {"weight": 2, "priority": 1}, held)
    with pytest.raises(FailedPrecondition) as caught:
        check_change("resources", {"weight": 3}, held)
    assert (
        "resources.weight cannot be modified: a config policy of workspace 'vision' sets"
        in str(caught.value)
    )
    kept = Policies(
        levels=(policy(invariant_config={"checkpoint_storage": {"save_trial_best": 1}}),)
    )
    check_change("checkpoint_storage", {"save_trial_latest": 0}, kept)
    with pytest.raises(FailedPrecondition, match="save_trial_best cannot be modified"):
        check_change("checkpoint_storage", {"save_trial_best": 0}, kept)


@covers("experiment-config 19.updates")
def test_a_later_change_is_held_to_the_constraints() -> None:
    held = Policies(levels=(policy(max_slots=4, priority_limit=30),))
    check_change("resources", {"max_slots": 4, "priority": 30}, held)
    with pytest.raises(InvalidArgument, match="resource constraint"):
        check_change("resources", {"max_slots": 5}, held)
    with pytest.raises(InvalidArgument, match="priority constraint"):
        check_change("resources", {"priority": 1}, held)
    check_change("resources", {"priority": 1}, held, priorities="none")


@pytest.mark.parametrize("word", ["EXPERIMENT", "experiment", "Ntsc"])
def test_workloads_are_known_in_any_case(word: str) -> None:
    assert workload_type(word) == word.upper()


def test_an_unknown_workload_is_named() -> None:
    with pytest.raises(InvalidArgument, match="invalid workload type: bogus"):
        workload_type("bogus")
