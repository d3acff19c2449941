"""Idempotent submission of experiments."""

from __future__ import annotations

import dataclasses
import json
import uuid
from typing import Any, Callable, Dict, List, Mapping, Optional

from determined.common.api import BaseSession, RetryPolicy

_WARNINGS = "x-determined-config-warnings"
_RETRIES = RetryPolicy(total=6, all_methods=True)


@dataclasses.dataclass(frozen=True)
class Submission:
    """A new experiment: its YAML config, its files, and its project."""

    config: str
    files: List[Dict[str, Any]]
    activate: bool = True
    project_id: Optional[int] = None
    template: Optional[str] = None
    parent_id: Optional[int] = None


def create(
    session: BaseSession, new: Submission, uploaded: Optional[Callable[[int, int], None]] = None
) -> Dict[str, Any]:
    """Create an experiment; return the master's response.

    The response has `experiment`, `config`, `warnings`, and the `configWarnings` from its header.
    The request has an idempotency key, so it can be retried without creating a second experiment.

    Args:
        session: a user's session.
        new: the experiment.
        uploaded: called with the bytes sent and the total bytes.

    Raises:
        BadRequestException: the master refused the config, or is not available.
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
    answer["configWarnings"] = config_warnings(response.headers)
    return answer


def config_warnings(headers: Mapping[str, str]) -> List[str]:
    """The master's warnings about a configuration, from the headers of its answer."""
    texts: List[str] = json.loads(headers.get(_WARNINGS) or "[]")
    return texts
