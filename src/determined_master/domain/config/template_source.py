"""The author of a template, and what the template decides for the user who names it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from determined_master.domain.config.key_effects import closed_paths, find_value
from determined_master.domain.config.schema.problems import ROOT, ProblemReport


class TemplateSource(msgspec.Struct, frozen=True, kw_only=True):
    """Who wrote the template that a task of another user names."""

    name: str
    author: str
    """The user who changed it last; empty if that is not known."""
    changed_at: str = ""
    """The day of that change; empty if that is not known."""
    is_trusted: bool = False
    """Whether the author is an admin of the cluster."""

    def __str__(self) -> str:
        who = f" by {self.author}" if self.author else " by an unknown user"
        when = f" on {self.changed_at}" if self.changed_at else ""
        return f"template '{self.name}', changed{who}{when}"


def template_changes(
    source: TemplateSource | None,
    user: Mapping[str, Any],
    merged: Mapping[str, Any],
    report: ProblemReport,
) -> tuple[str, ...]:
    """Keys of another user's template that decide what runs, for the story.

    A user who names a template chooses it as it is at that time. Its author may change it later,
    so its user gets a warning each time, unless the author is an admin of the cluster.

    Args:
        source: whose it is; None for the user's own, or for no template.
        user: the configuration of the user.
        merged: the same over the template.
        report: receives the warnings.
    """
    if source is None:
        return ()
    paths = [p for p in closed_paths(merged) if find_value(user, p) != find_value(merged, p)]
    if not source.is_trusted:
        for path in paths:
            report.warn(f"{ROOT}.{path}", f"comes from {source}, and runs with your token")
    return tuple(f"{path}: {source}" for path in sorted(paths))
