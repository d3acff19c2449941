"""Policies of Google's IAM, with members added and taken away. Pure."""

from __future__ import annotations

from typing import Any, Collection, Dict, List, Mapping, NamedTuple, Optional, Sequence

CONDITIONAL_VERSION = 3
"""The version of policies that have conditions."""
Policy = Dict[str, Any]


class Binding(NamedTuple):
    """A role of some members, for all that the resource contains or under a condition."""

    role: str
    members: Sequence[str]
    condition: Optional[Mapping[str, str]] = None

    def body(self) -> Dict[str, Any]:
        """As a policy has it."""
        fields: Dict[str, Any] = {"role": self.role, "members": list(self.members)}
        return {**fields, "condition": dict(self.condition)} if self.condition else fields


def all_but(bucket: str, directory: str) -> Dict[str, str]:
    """A condition: all objects of a bucket, without those of a directory.

    A negated prefix also admits the bucket itself, so its objects can be listed.
    """
    prefix = f"projects/_/buckets/{bucket}/objects/{directory}/"
    return {
        "title": f"all but {directory}",
        "description": "Tasks do not write what the master installs.",
        "expression": f'!resource.name.startsWith("{prefix}")',
    }


def with_bindings(policy: Policy, added: Sequence[Binding]) -> Policy:
    """A policy with these bindings; all others stay as they are.

    Members of a conditional binding lose the same role under any other condition or none: an
    earlier `up` has given it without one.
    """
    bindings = [dict(one) for one in policy.get("bindings", ())]
    for binding in added:
        if binding.condition:
            bindings = _without_role(bindings, binding)
        same = [one for one in bindings if _is_same(one, binding)]
        if not same:
            bindings.append(binding.body())
            continue
        present = same[0].get("members", ())
        more = [member for member in binding.members if member not in present]
        same[0]["members"] = [*present, *more]
    changed = {**policy, "bindings": bindings}
    if any(one.get("condition") for one in bindings):
        changed["version"] = CONDITIONAL_VERSION
    return changed


def without(
    policy: Policy, members: Collection[str], roles: Optional[Collection[str]] = None
) -> Policy:
    """A policy without these members; bindings that have no member left are dropped.

    Args:
        policy: a policy.
        members: who loses roles.
        roles: these roles; all by default.
    """
    if "bindings" not in policy:
        return dict(policy)
    remaining: List[Dict[str, Any]] = []
    for one in policy["bindings"]:
        is_taken = roles is None or one["role"] in roles
        remaining += _without_members([one], members) if is_taken else [one]
    return {**policy, "bindings": remaining}


def _is_same(one: Mapping[str, Any], binding: Binding) -> bool:
    """Whether members of a binding can be added to one of a policy."""
    condition = (one.get("condition") or {}).get("expression")
    expression = (binding.condition or {}).get("expression")
    return bool(one["role"] == binding.role) and condition == expression


def _without_role(bindings: List[Dict[str, Any]], binding: Binding) -> List[Dict[str, Any]]:
    remaining = []
    for one in bindings:
        is_other = one["role"] == binding.role and not _is_same(one, binding)
        remaining += _without_members([one], binding.members) if is_other else [one]
    return remaining


def _without_members(
    bindings: Sequence[Dict[str, Any]], members: Collection[str]
) -> List[Dict[str, Any]]:
    remaining = []
    for one in bindings:
        others = [member for member in one.get("members", ()) if member not in members]
        if others:
            remaining.append({**one, "members": others})
    return remaining
