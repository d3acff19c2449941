"""Config policies: values and limits that admins set for users.

A policy belongs to the whole cluster or to one workspace. Its invariant configuration overrides
any user's; its constraints limit what a user may request.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from determined_master.domain.errors import FailedPrecondition, InvalidArgument
from determined_master.domain.schedule.priorities import PriorityOrder, is_beyond

Workload = Literal["EXPERIMENT", "NTSC"]
"""The scope of a policy; NTSC: notebooks, TensorBoards, shells, commands, generic tasks."""

_NOUNS: Mapping[Workload, str] = {"EXPERIMENT": "experiment", "NTSC": "tasks"}
"""The names of workloads on the command line."""


class Policy(msgspec.Struct, frozen=True, kw_only=True):
    """The policies of admins for one workload of the cluster or of one workspace."""

    scope: str = "the cluster"
    """The scope for messages: `the cluster` or `workspace 'vision'`."""
    author: str = ""
    """The name of the user who set it last; empty if the account is deleted."""
    invariant_config: Mapping[str, Any] = msgspec.field(default_factory=dict)
    """A partial configuration that overrides any user's."""
    withheld: tuple[str, ...] = ()
    """Paths of its invariant configuration that do not apply: no admin of the cluster set them."""
    max_slots: int | None = None
    """Most slots that one job may ask for."""
    max_cost_per_hour: float | None = None
    """Dollars an hour of a workspace's work above which no machine is started for it."""
    priority_limit: int | None = None
    """The most urgent priority of a job: the lowest number, in Kubernetes the highest."""


class Bound(NamedTuple):
    """A limit, and the scope of the policy that sets it."""

    limit: int
    scope: str


class Invariant(NamedTuple):
    """A value that a user cannot change, the scope of the policy that sets it, and its author."""

    value: Any
    scope: str
    author: str = ""


class Policies(msgspec.Struct, frozen=True, kw_only=True):
    """All policies that apply to one job, the highest first: the cluster's, the workspace's."""

    levels: tuple[Policy, ...] = ()
    workload: Workload = "EXPERIMENT"

    @property
    def max_slots(self) -> Bound | None:
        """The limit of the highest policy that sets one."""
        found = (Bound(p.max_slots, p.scope) for p in self.levels if p.max_slots is not None)
        return next(found, None)

    @property
    def priority_limit(self) -> Bound | None:
        """The limit of the highest policy that sets one."""
        found = (
            Bound(p.priority_limit, p.scope) for p in self.levels if p.priority_limit is not None
        )
        return next(found, None)

    def invariants(self) -> dict[str, Invariant]:
        """All values that policies set, by dotted path; the higher policy wins."""
        found: dict[str, Invariant] = {}
        for policy in reversed(self.levels):
            for path, value in _leaves(policy.invariant_config, ""):
                found[path] = Invariant(value, policy.scope, policy.author)
        return found

    @property
    def remedy(self) -> str:
        """A hint: how to see the policies, and who can change them."""
        return (
            f"`det config-policies describe {_NOUNS[self.workload]}` shows the policies; an admin "
            "can change them"
        )


def find_violations(
    resources: Mapping[str, Any],
    policies: Policies,
    *,
    priorities: PriorityOrder = "smaller_first",
) -> list[str]:
    """The parts of a completed `resources` section that exceed the constraints of its policies.

    Args:
        resources: an experiment's or a task's.
        policies: those that hold for it.
        priorities: of its pool; a pool without priorities has no limit for them.
    """
    found = []
    slots = policies.max_slots
    for key in ("slots_per_trial", "slots", "max_slots"):
        asked = resources.get(key)
        if slots is not None and asked is not None and asked > slots.limit:
            found.append(
                f"resource constraint: requested resources.{key} {asked} exceeds the limit of "
                f"{slots.limit} slots that a config policy of {slots.scope} sets"
            )
    priority, limit = resources.get("priority"), policies.priority_limit
    if limit and priority is not None and is_beyond(priority, limit.limit, priorities):
        which = "lower" if priorities == "smaller_first" else "higher"
        found.append(
            f"priority constraint: requested resources.priority {priority} exceeds the limit of "
            f"{limit.limit} that a config policy of {limit.scope} sets: the {which} the number, "
            "the more urgent"
        )
    return found


def check_constraints(
    resources: Mapping[str, Any],
    policies: Policies,
    *,
    priorities: PriorityOrder = "smaller_first",
) -> None:
    """Check that a completed `resources` section keeps the constraints.

    Raises:
        InvalidArgument: with every exceeded limit, its scope, and the remedy.
    """
    found = find_violations(resources, policies, priorities=priorities)
    if found:
        raise InvalidArgument("; ".join(found) + f". Ask for less; {policies.remedy}")


def check_change(
    section: str,
    changes: Mapping[str, Any],
    policies: Policies,
    *,
    priorities: PriorityOrder = "smaller_first",
) -> None:
    """Check that a user may change these values of an existing job.

    Args:
        section: of the configuration, such as `resources`.
        changes: new values by key.
        policies: those that apply to the job.
        priorities: as of `find_violations`.

    Raises:
        FailedPrecondition: a policy sets one of them to another value.
        InvalidArgument: one exceeds a constraint.
    """
    invariants = policies.invariants()
    for key, value in changes.items():
        path = f"{section}.{key}"
        held = invariants.get(path)
        if held is not None and held.value != value:
            raise FailedPrecondition(
                f"{path} cannot be modified: a config policy of {held.scope} sets it to "
                f"{held.value}; {policies.remedy}"
            )
    if section == "resources":
        check_constraints(changes, policies, priorities=priorities)


def _leaves(config: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The values of nested maps by dotted path. Lists are values."""
    for key, value in config.items():
        at = f"{path}.{key}" if path else str(key)
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, at)
        elif value is not None:
            yield at, value
