"""Merging config policies over a user's configuration, with warnings."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.key_effects import find_value
from determined_master.domain.config.policies.rules import Policies
from determined_master.domain.config.schema.problems import ROOT, Problem, ProblemReport
from determined_master.domain.errors import FailedPrecondition


def apply_invariants(
    config: Mapping[str, Any], policies: Policies, report: ProblemReport
) -> dict[str, Any]:
    """A configuration with all invariants in it; replaced values give warnings.

    Args:
        config: canonical, of the user and the template.
        policies: those that apply.
        report: receives warnings, without values: they may be secret.
    """
    merged = _merged(config, policies, report)
    for path, invariant in policies.invariants().items():
        value = find_value(config, path)
        if value is not None and value != find_value(merged, path):
            text = f"is replaced by what a config policy of {invariant.scope} sets"
            report.warn(f"{ROOT}.{path}", text)
    for policy in policies.levels:
        for path in policy.withheld:
            text = (
                f"is set by the config policy of {policy.scope} without effect: only an admin of "
                "the cluster may set it for others"
            )
            report.warn(f"{ROOT}.{path}", text)
    return merged


def policy_changes(
    before: Mapping[str, Any], merged: Mapping[str, Any], policies: Policies
) -> tuple[str, ...]:
    """Keys that policies have changed, each with the policy and its author, for the story.

    Args:
        before: the configuration of the user and the template.
        merged: the same with the invariants.
        policies: those that apply.
    """
    return tuple(
        f"{path}: config policy of {invariant.scope}"
        + (f", set by {invariant.author}" if invariant.author else "")
        for path, invariant in sorted(policies.invariants().items())
        if find_value(before, path) != find_value(merged, path)
    )


def check_held(config: Mapping[str, Any], policies: Policies) -> None:
    """Check that a completed configuration agrees with the invariants.

    Raises:
        FailedPrecondition: it differs; with every path, without values: they may be secret.
    """
    merged = _merged(config, policies, ProblemReport())
    found = [
        f"{path} is set to another value by a config policy of {invariant.scope}"
        for path, invariant in policies.invariants().items()
        if find_value(config, path) != find_value(merged, path)
    ]
    if found:
        raise FailedPrecondition(f"{'; '.join(found)}. {policies.remedy}")


def _merged(
    config: Mapping[str, Any], policies: Policies, report: ProblemReport
) -> dict[str, Any]:
    merged = dict(config)
    for policy in reversed(policies.levels):
        if policy.invariant_config:
            high = EXPERIMENT.read(policy.invariant_config, "<policy>", report) or {}
            merged = dict(EXPERIMENT.merge(high, merged))
    return merged


def blamed(
    problems: Iterable[Problem], policies: Policies, own: Container[Problem]
) -> tuple[Problem, ...]:
    """Problems, each with the policy that contributes to it; `own` are the user's alone."""
    invariants = policies.invariants()
    return tuple(
        problem if problem in own else _blamed(problem, invariants, policies.remedy)
        for problem in problems
    )


def _blamed(problem: Problem, invariants: Mapping[str, Any], remedy: str) -> Problem:
    if problem.is_gap:
        return problem
    involved = [
        f"{path} is set by a config policy of {invariant.scope}"
        for path, invariant in invariants.items()
        if _is_below(f"{ROOT}.{path}", problem.path) or _is_below(problem.path, f"{ROOT}.{path}")
    ]
    if not involved:
        return problem
    return problem._replace(text=f"{problem.text} ({'; '.join(involved)}; {remedy})")


def _is_below(path: str, root: str) -> bool:
    return path.startswith(root) and path[len(root) : len(root) + 1] in ("", ".", "[")
