"""Merging config policies over a user's configuration, with warnings."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from typing import Any

from determined_master.domain.config.experiment_schema import EXPERIMENT
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
    for path, (_, scope) in policies.invariants().items():
        given = _find(config, path)
        if given is not None and given != _find(merged, path):
            report.warn(f"{ROOT}.{path}", f"is replaced by what a config policy of {scope} sets")
    return merged


def check_held(config: Mapping[str, Any], policies: Policies) -> None:
    """Check that a completed configuration agrees with the invariants.

    Raises:
        FailedPrecondition: it differs; with every path, without values: they may be secret.
    """
    merged = _merged(config, policies, ProblemReport())
    found = [
        f"{path} is set to another value by a config policy of {scope}"
        for path, (_, scope) in policies.invariants().items()
        if _find(config, path) != _find(merged, path)
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


def _find(config: Any, path: str) -> Any:
    for key in path.split("."):
        if not isinstance(config, Mapping):
            return None
        config = config.get(key)
    return config
