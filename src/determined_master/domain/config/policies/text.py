"""Reads the text of config policies and checks that its keys agree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from determined_master.domain.config.experiment_schema import EXPERIMENT
from determined_master.domain.config.key_effects import closed_paths, harmless_part
from determined_master.domain.config.policies.rules import (
    Policies,
    Policy,
    Workload,
    find_violations,
)
from determined_master.domain.config.schema.containers import Field, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import Anything, Integer, Number, type_name
from determined_master.domain.config.sections.resources import PRIORITY
from determined_master.domain.errors import InvalidArgument, PermissionDenied
from determined_master.domain.schedule.priorities import PriorityOrder, is_beyond

ROOT = "<policies>"
INVARIANT = f"{ROOT}.invariant_config"

CONSTRAINTS = Object(
    {
        "resources": Field(
            Object(
                {
                    "max_slots": Field(Integer(at_least=0), doc="Most slots of one job."),
                    "max_cost_per_hour": Field(
                        Number(above=0),
                        doc="Most dollars an hour of a workspace for which machines are started.",
                    ),
                }
            )
        ),
        "priority_limit": Field(PRIORITY, doc="The most urgent priority of a job."),
    }
)
_POLICIES = Object({"invariant_config": Field(Anything()), "constraints": Field(CONSTRAINTS)})
_PLACE = ("workspace", "project")


def workload_type(text: str) -> Workload:
    """The workload that a word names, in any case.

    Raises:
        InvalidArgument: it names none.
    """
    match text.upper():
        case "EXPERIMENT":
            return "EXPERIMENT"
        case "NTSC":
            return "NTSC"
        case _:
            raise InvalidArgument(f"invalid workload type: {text}. Use EXPERIMENT or NTSC")


def read_policy(
    stored: Mapping[str, Any], scope: str, *, author: str = "", is_admins: bool = True
) -> Policy:
    """Read a stored policy, which was checked before.

    Args:
        stored: as it was submitted.
        scope: whose it is, as of `Policy`.
        author: the name of the user who set it.
        is_admins: whether an admin of the cluster set it; otherwise only its limits and harmless
            values apply, because work runs with the tokens of its owners.
    """
    quiet = ProblemReport()
    constraints = CONSTRAINTS.read(stored.get("constraints") or {}, "", quiet) or {}
    invariant = EXPERIMENT.read(stored.get("invariant_config") or {}, "", quiet) or {}
    withheld = () if is_admins else tuple(closed_paths(invariant))
    if withheld:
        invariant = harmless_part(invariant)
    resources = constraints.get("resources") or {}
    return Policy(
        scope=scope,
        author=author,
        withheld=withheld,
        invariant_config={key: value for key, value in invariant.items() if value is not None},
        max_slots=resources.get("max_slots"),
        max_cost_per_hour=resources.get("max_cost_per_hour"),
        priority_limit=constraints.get("priority_limit"),
    )


def check_author(policy: Policy, *, is_admin: bool) -> None:
    """Check that a policy decides no more for other users than its author may.

    Raises:
        PermissionDenied: it sets what runs, what a task reads or where something is sent, and its
            author is no admin of the cluster.
    """
    closed = [] if is_admin else list(closed_paths(policy.invariant_config))
    if closed:
        names = ", ".join(f"{INVARIANT}.{path}" for path in closed)
        raise PermissionDenied(
            f"{names}: only an admin of the cluster may set what other users' work runs, reads or "
            "sends. Leave it out and set limits only, or ask an admin to set this policy"
        )


def check_policies(
    submitted: Any,
    workload: Workload,
    *,
    scope: str,
    above: Policy | None = None,
    priorities: PriorityOrder = "smaller_first",
) -> Policy:
    """Find mistakes and contradictions before a policy is stored.

    Args:
        submitted: JSON values, as read from an admin's YAML.
        workload: the workload that it applies to.
        scope: whose it is, as of `Policy`.
        above: the cluster's, when this is a workspace's.
        priorities: of the cluster's pools; `none` where they differ: then limits of the two
            are not compared.

    Returns:
        The policy.

    Raises:
        InvalidArgument: with every problem and its path.
    """
    report = ProblemReport()
    if not isinstance(submitted, Mapping):
        report.problem(ROOT, f"expected object, but got {type_name(submitted)}")
    elif not any(value is not None for value in submitted.values()):
        report.problem(ROOT, "say something under invariant_config or constraints, or delete them")
    else:
        _read(submitted, workload, report)
    if not report.problems and isinstance(submitted, Mapping):
        policy = read_policy(submitted, scope)
        for path, text in (
            *_conflicts(policy),
            *_conflicts_with(above, policy, workload, priorities),
        ):
            report.problem(path, text)
    if report.problems:
        lines = (f"{problem.path}: {problem.text}" for problem in report.problems)
        raise InvalidArgument("invalid config policies: " + "\n".join(lines))
    return policy


def _read(submitted: Mapping[str, Any], workload: Workload, report: ProblemReport) -> None:
    read = _POLICIES.read(submitted, ROOT, report) or {}
    invariant = read.get("invariant_config")
    if invariant is None:
        return
    if workload == "NTSC":
        text = "not supported for workload type NTSC: only experiments have an invariant config"
        report.problem(INVARIANT, text)
        return
    EXPERIMENT.read(invariant, INVARIANT, report)
    for key in _PLACE:
        if isinstance(invariant, Mapping) and invariant.get(key) is not None:
            text = "a policy does not decide where experiments are put: leave it out"
            report.problem(f"{INVARIANT}.{key}", text)


def _conflicts(policy: Policy) -> Iterator[tuple[str, str]]:
    """Contradictions within one policy."""
    resources = policy.invariant_config.get("resources") or {}
    slots, limit = resources.get("slots_per_trial"), policy.max_slots
    at = f"{INVARIANT}.resources"
    if resources.get("priority") is not None and policy.priority_limit is not None:
        text = "sets the limit twice: constraints.priority_limit bounds it too; keep one of them"
        yield f"{at}.priority", text
    if resources.get("max_slots") is not None and limit is not None:
        text = (
            "sets the limit twice: constraints.resources.max_slots bounds it too; keep one of them"
        )
        yield f"{at}.max_slots", text
    if limit is not None and slots is not None and slots > limit:
        text = f"{slots} is more than constraints.resources.max_slots ({limit})"
        yield f"{at}.slots_per_trial", text


def _conflicts_with(
    above: Policy | None, policy: Policy, workload: Workload, priorities: PriorityOrder
) -> Iterator[tuple[str, str]]:
    """Where a workspace's policy contradicts the cluster's."""
    if above is None:
        return
    at = f"{ROOT}.constraints"
    slots, most = policy.max_slots, above.max_slots
    if _is_above(slots, most):
        yield f"{at}.resources.max_slots", f"{slots} is more than the {most} of {above.scope}"
    cost, budget = policy.max_cost_per_hour, above.max_cost_per_hour
    if _is_above(cost, budget):
        text = f"{cost:g} is more than the {budget:g} of {above.scope}"
        yield f"{at}.resources.max_cost_per_hour", text
    limit, highest = policy.priority_limit, above.priority_limit
    if limit is not None and highest is not None and is_beyond(limit, highest, priorities):
        text = f"{limit} is more urgent than the {highest} of {above.scope}"
        yield f"{at}.priority_limit", text
    resources = policy.invariant_config.get("resources") or {}
    policies = Policies(levels=(above,), workload=workload)
    for text in find_violations(resources, policies, priorities=priorities):
        yield f"{INVARIANT}.resources", text


def _is_above(value: float | None, limit: float | None) -> bool:
    return value is not None and limit is not None and value > limit
