"""Records of stories: what happened to a thing, from the journal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from determined_master.domain.task.cause import FailureCause


@dataclass(frozen=True)
class StoryLine:
    """One event of one aggregate.

    `event` and `effects` are JSON values as stored; a long effect is its name alone.
    """

    at: datetime
    kind: str
    id: str
    version: int
    cause: str
    event: dict[str, Any]
    effects: Sequence[dict[str, Any]]

    @property
    def cursor(self) -> tuple[datetime, str, str, int]:
        """Where to continue after this line."""
        return self.at, self.kind, self.id, self.version


ThingWithStory = Literal["experiment", "trial", "allocation", "task"]


class StoredCause(FailureCause, frozen=True, kw_only=True):
    """Why the latest attempt failed, and whose it was."""

    text: str
    task_id: str = ""
    allocation_id: str = ""
    trial_id: int = 0
