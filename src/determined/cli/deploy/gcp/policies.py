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
        found: Dict[str, Any] = {"role": self.role, "members": list(self.members)}
        return {**found, "condition": dict(self.condition)} if self.condition else found


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


def with_bindings(policy: Policy, wanted: Sequence[Binding]) -> Policy:
    """A policy with these bindings; all others stay as they are.

    Members of a conditional binding lose the same role under any other condition or none: an
    earlier `up` has given it without one.
    """
    bindings = [dict(one) for one in policy.get("bindings", ())]
    for binding in wanted:
        if binding.condition:
            bindings = _without_role(bindings, binding)
        same = [one for one in bindings if _is_same(one, binding)]
        if not same:
            bindings.append(binding.body())
            continue
        known = same[0].get("members", ())
        more = [member for member in binding.members if member not in known]
        same[0]["members"] = [*known, *more]
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
    kept: List[Dict[str, Any]] = []
    for one in policy["bindings"]:
        is_taken = roles is None or one["role"] in roles
        kept += _left([one], members) if is_taken else [one]
    return {**policy, "bindings": kept}


def _is_same(one: Mapping[str, Any], binding: Binding) -> bool:
    """Whether members of a binding can be added to one of a policy."""
    condition = (one.get("condition") or {}).get("expression")
    wanted = (binding.condition or {}).get("expression")
    return bool(one["role"] == binding.role) and condition == wanted


def _without_role(bindings: List[Dict[str, Any]], binding: Binding) -> List[Dict[str, Any]]:
    found = []
    for one in bindings:
        is_other = one["role"] == binding.role and not _is_same(one, binding)
        found += _left([one], binding.members) if is_other else [one]
    return found


def _left(bindings: Sequence[Dict[str, Any]], members: Collection[str]) -> List[Dict[str, Any]]:
    kept = []
    for one in bindings:
        left = [member for member in one.get("members", ()) if member not in members]
        if left:
            kept.append({**one, "members": left})
    return kept
