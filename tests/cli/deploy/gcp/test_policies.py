"""Policies: members are added and taken away, and all other bindings stay."""

from __future__ import annotations

from typing import Any

from determined_deploy.gcp.resources.policies import (
    Binding,
    all_but,
    with_bindings,
    without,
)

BUT_WHEELS = all_but("lab-1-determined-lab", "deploy")
OTHER = {"expression": 'resource.name.startsWith("projects/_/buckets/b/objects/x")'}


def binding(*members: str, **more: Any) -> dict[str, Any]:
    return {"role": "roles/r", "members": list(members), **more}


def test_the_condition_excludes_a_directory_and_no_other_object() -> None:
    assert BUT_WHEELS["expression"] == (
        '!resource.name.startsWith("projects/_/buckets/lab-1-determined-lab/objects/deploy/")'
    )


def test_members_are_added_once() -> None:
    policy = with_bindings({"etag": "a"}, [Binding("roles/r", ["m"])])
    assert policy == {"etag": "a", "bindings": [binding("m")]}
    assert with_bindings(policy, [Binding("roles/r", ["m"])]) == policy
    assert with_bindings(policy, [Binding("roles/r", ["n"])])["bindings"] == [binding("m", "n")]


def test_a_binding_of_all_is_not_joined_to_one_with_a_condition() -> None:
    policy = {"bindings": [binding("a", condition=OTHER)], "version": 3}
    found = with_bindings(policy, [Binding("roles/r", ["m"])])
    assert found["bindings"] == [binding("a", condition=OTHER), binding("m")]


def test_a_condition_raises_the_version_and_narrows_earlier_rights() -> None:
    policy = {
        "version": 1,
        "bindings": [
            binding("m", "a"),
            binding("m", condition=OTHER),
            {"role": "s", "members": "m"},
        ],
    }
    wanted = Binding("roles/r", ["m"], BUT_WHEELS)
    found = with_bindings(policy, [wanted])
    assert found == {
        "version": 3,
        "bindings": [binding("a"), {"role": "s", "members": "m"}, wanted.body()],
    }
    assert with_bindings(found, [wanted]) == found


def test_bindings_without_a_member_left_are_dropped() -> None:
    policy = {"bindings": [binding("m"), binding("m", "a", condition=OTHER)], "etag": "a"}
    found = without(policy, {"m"})
    assert found == {"bindings": [binding("a", condition=OTHER)], "etag": "a"}
    assert without({"etag": "a"}, {"m"}) == {"etag": "a"}


def test_members_lose_some_roles_and_keep_others() -> None:
    other = {"role": "roles/s", "members": ["m"]}
    found = without({"bindings": [binding("m", "a"), other]}, {"m"}, {"roles/r"})
    assert found == {"bindings": [binding("a"), other]}
