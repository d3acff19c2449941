"""Log policies: actions when a line of a trial's log matches a pattern."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from determined_master.domain.config.schema.containers import Field, ListOf, Object
from determined_master.domain.config.schema.problems import ProblemReport
from determined_master.domain.config.schema.values import OneOf, Text
from determined_master.domain.patterns import find_fault


class LogPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern in RE2's syntax that matches anywhere in a line."""

    name: str | None = None
    pattern: str | None = None
    """None disables a default policy of the same name."""
    action: str | None = None
    """`cancel_retries` or `exclude_node`; None only labels the trial with the name."""


DEFAULTS: tuple[dict[str, str], ...] = (
    {"name": "CUDA OOM", "pattern": ".*CUDA out of memory.*"},
    {"name": "ECC Error", "pattern": ".*uncorrectable ECC error encountered.*"},
)


def typed_policies(config: Sequence[Mapping[str, Any]]) -> tuple[LogPolicy, ...]:
    """The typed form of a completed `log_policies` section, also of an older one."""
    return tuple(map(_typed, config))


def _typed(item: Mapping[str, Any]) -> LogPolicy:
    action = item.get("action")
    if isinstance(action, Mapping):  # the older form
        action = action.get("type")
    return LogPolicy(name=item.get("name"), pattern=item.get("pattern"), action=action)


class _Action(OneOf):
    """A word; the older form is an object with the word as its `type`."""

    def read(self, value: Any, at: str, report: ProblemReport) -> str | None:
        if isinstance(value, Mapping) and set(value) == {"type"}:
            value = value["type"]
        return super().read(value, at, report)


def _is_whole(policy: dict[str, Any], at: str, report: ProblemReport) -> None:
    has_name = policy.get("name") is not None
    if not has_name and not (policy.get("pattern") and policy.get("action")):
        report.problem(at, "a log policy needs a name, or a pattern and an action")


POLICY = Object(
    {
        "name": Field(Text(), is_hidden_when_null=True, doc="Label of the trials that match."),
        "pattern": Field(Text(find_fault), is_hidden_when_null=True, doc="In the syntax of RE2."),
        "action": Field(
            _Action(("cancel_retries", "exclude_node")),
            is_hidden_when_null=True,
            doc="Make the next failure final, or exclude the agent from later attempts.",
        ),
    },
    rules=(_is_whole,),
)


def policy_key(policy: Any) -> Any:
    """The key that identifies a policy: its name, or else its pattern and action."""
    if not policy:
        return None
    return policy.get("name") or (policy.get("pattern"), policy.get("action"))


class LogPolicies(ListOf):
    """Log policies of one layer; names are unique within it."""

    def read(self, value: Any, at: str, report: ProblemReport) -> list[Any] | None:
        read = super().read(value, at, report)
        names = [p["name"] for p in read or () if p and p.get("name") is not None]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            report.problem(at, f"names must be unique but found twice: {', '.join(twice)}")
        return read

    def complete(self, value: Any) -> Any:
        return super().complete(self.merge(value or [], list(DEFAULTS)))


LOG_POLICIES = LogPolicies(POLICY, key=policy_key)
