"""The two lists of access: what needs no token, and what a task's own token opens.

Everything that is not named here needs the token of a user.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from determined_master.domain.access.rules import TaskScope
from determined_wire.proto import Message

OPEN: frozenset[tuple[str, str]] = frozenset(
    {
        ("GET", "/"),
        ("GET", "/det"),
        ("GET", "/det/{path*}"),
        ("GET", "/docs"),
        ("GET", "/docs/{path*}"),
        ("GET", "/info"),
        ("GET", "/health"),  # tells details only to those who send a token
        ("GET", "/task/harness.tar.gz"),  # public code
        ("POST", "/login"),
        ("POST", "/api/v1/auth/login"),
        ("GET", "/api/v1/master"),
        ("GET", "/api/v1/master/telemetry"),
        ("GET", "/api/v1/openapi.json"),
        ("GET", "/api/v1/api.swagger.json"),
        ("GET", "/api/v1/schemas/experiment-config"),
        ("WS", "/agents"),  # checks the agent's join token itself
    }
)

PAID_EDITION = (b"/scim/v2/", b"/oauth2/", b"/saml/", b"/oidc/")
"""Never served; their 404 is given without a token, as their clients expect."""

Rule = tuple[tuple[str, str], ...]
"""Pairs: a field of the request (dotted, through lists too), an attribute of the scope."""

_A = "/api/v1/allocations/{allocation_id}"
_OF_ALLOCATION: Rule = (("allocation_id", "allocation_id"),)
_OF_TASK: Rule = (("task_id", "task_id"),)
_OF_TRIAL: Rule = (("trial_id", "trial_id"),)

TASK: dict[tuple[str, str], Rule] = {
    ("GET", "/api/v1/me"): (),
    ("GET", _A): _OF_ALLOCATION,
    ("GET", f"{_A}/resources/{{resources_id}}/rendezvous"): _OF_ALLOCATION,
    ("GET", f"{_A}/signals/preemption"): _OF_ALLOCATION,
    ("POST", f"{_A}/signals/ack_preemption"): _OF_ALLOCATION,
    ("POST", f"{_A}/signals/pending_preemption"): _OF_ALLOCATION,
    ("POST", f"{_A}/ready"): _OF_ALLOCATION,
    ("POST", f"{_A}/waiting"): _OF_ALLOCATION,
    ("POST", f"{_A}/proxy_address"): _OF_ALLOCATION,
    ("POST", f"{_A}/all_gather"): _OF_ALLOCATION,
    ("POST", f"{_A}/notify_container_running"): _OF_ALLOCATION,
    ("POST", f"{_A}/resources/{{resources_id}}/daemon"): _OF_ALLOCATION,
    ("POST", f"{_A}/acceleratorData"): _OF_ALLOCATION,
    ("GET", "/api/v1/tasks/{task_id}"): _OF_TASK,
    ("GET", "/api/v1/tasks/{task_id}/context_directory"): _OF_TASK,
    ("GET", "/api/v1/tasks/{task_id}/acceleratorData"): _OF_TASK,
    ("PUT", "/api/v1/notebooks/{notebook_id}/report_idle"): (("notebook_id", "task_id"),),
    ("POST", "/api/v1/task/logs"): (("logs.task_id", "task_id"),),
    ("POST", "/api/v1/runs/start"): (("run_id", "trial_id"),),
    ("GET", "/api/v1/runs/{run_id}/metadata"): (("run_id", "trial_id"),),
    ("POST", "/api/v1/runs/{run_id}/metadata"): (("run_id", "trial_id"),),
    ("GET", "/api/v1/trials/{trial_id}"): _OF_TRIAL,
    ("POST", "/api/v1/trials/{trial_id}/progress"): _OF_TRIAL,
    ("POST", "/api/v1/trials/{trial_id}/runner/metadata"): _OF_TRIAL,
    ("POST", "/api/v1/trials/{trial_id}/early_exit"): _OF_TRIAL,
    ("POST", "/api/v1/trials/{trial_id}/metrics/batch"): _OF_TRIAL,
    ("POST", "/api/v1/trials/{metrics.trial_id}/metrics"): (("metrics.trial_id", "trial_id"),),
    ("POST", "/api/v1/trials/{training_metrics.trial_id}/training_metrics"): (
        ("training_metrics.trial_id", "trial_id"),
    ),
    ("POST", "/api/v1/trials/{validation_metrics.trial_id}/validation_metrics"): (
        ("validation_metrics.trial_id", "trial_id"),
    ),
    ("POST", "/api/v1/trials/profiler/metrics"): (("batches.labels.trial_id", "trial_id"),),
    ("POST", "/api/v1/trial-source-info"): (("trial_source_info.trial_id", "trial_id"),),
    ("GET", "/api/v1/experiments/{experiment_id}/searcher/best_searcher_validation_metric"): (
        ("experiment_id", "experiment_id"),
    ),
    ("POST", "/api/v1/checkpoints"): (("checkpoint.task_id", "task_id"),),
    # The service knows which checkpoints a task may see, and which delete.
    ("GET", "/api/v1/checkpoints/{checkpoint_uuid}"): (),
    ("PATCH", "/api/v1/checkpoints"): (),
    ("POST", "/api/v1/webhooks/custom"): (("trial_id", "trial_id"),),
}


def is_open(method: str, path: str) -> bool:
    """Whether a route needs no token."""
    return (method, path) in OPEN


def find_foreign(rule: Rule, scope: TaskScope, request: Message) -> tuple[str, str] | None:
    """Kind and name of the first thing in a task's request that is not of that task."""
    for field, attribute in rule:
        own = getattr(scope, attribute)
        for value in values_at(request, field):
            if value is None or value != own:
                return attribute.removesuffix("_id"), str(value)
    return None


def values_at(request: Message, field: str) -> list[Any]:
    """What stands at a dotted name of a request, of all members of the lists on the way."""
    return _values([request], field.split("."))


def _values(messages: Iterable[Any], names: list[str]) -> list[Any]:
    found: list[Any] = []
    for message in messages:
        value = None if message is None else getattr(message, names[0])
        found += value if isinstance(value, list | tuple) else [value]
    return _values(found, names[1:]) if len(names) > 1 else found
