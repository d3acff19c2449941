"""Handing a new experiment to the master, once, whatever happens to the answer."""

from __future__ import annotations

import dataclasses
import json
import uuid
from typing import Any, Callable, Dict, List, Optional

from determined.common.api import BaseSession, RetryPolicy

_WARNINGS = "x-determined-config-warnings"
_RETRIES = RetryPolicy(total=6, all_methods=True)


@dataclasses.dataclass(frozen=True)
class Submission:
    """A new experiment: the text of its YAML config, its files, and where it belongs."""

    config: str
    files: List[Dict[str, Any]]
    activate: bool = True
    project_id: Optional[int] = None
    template: Optional[str] = None
    parent_id: Optional[int] = None


def create(
    session: BaseSession, new: Submission, uploaded: Optional[Callable[[int, int], None]] = None
) -> Dict[str, Any]:
    """Create an experiment; the master's answer with `experiment`, `config`, `warnings`.

    `uploaded` is told how many bytes were sent, and of how many.

    `configWarnings` are texts about the config that was sent, from the answer's header.

    The request carries a key of its own, so it is sent again when its answer is lost and the
    master still makes one experiment of it.

    Raises:
        BadRequestException: the master refused the config, or is not there.
    """
    body = {
        "config": new.config,
        "modelDefinition": new.files,
        "activate": new.activate,
        "parentId": new.parent_id,
        "projectId": new.project_id,
        "template": new.template,
        "validateOnly": False,
    }
    key = {"Idempotency-Key": str(uuid.uuid4())}
    retries = _RETRIES._replace(tell_late=session.retry.tell_late)
    with session.with_retry(retries) as patient:
        if uploaded is not None:
            patient.watch_uploads(uploaded)
        response = patient.post("/api/v1/experiments", json=body, headers=key, timeout=600.0)
    answer: Dict[str, Any] = response.json()
    answer["configWarnings"] = json.loads(response.headers.get(_WARNINGS) or "[]")
    return answer
