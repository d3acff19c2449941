"""Pods in a namespace that enforces the Pod Security Standard `restricted`."""

from __future__ import annotations

from typing import Any

import pytest
from tests.backends.kubernetes.objects import built, options, spec
from tests.backends.kubernetes.pod_security import violations

from determined_master.backends.kubernetes.manifest.placeholder import placeholder
from determined_master.backends.kubernetes.options import Autoscaling
from determined_master.ports.kubernetes import NodeRequest
from determined_master.ports.orders import PodTerms
from determined_wire.agent_link import File, Mount, TaskUser

ANN = TaskUser(user="ann", uid=1000, group="ann", gid=1001)
KEY = File("/run/determined/ssh/id", b"key", 0o600)
SIDECAR = {"name": "x", "image": "x"}
TASKS: dict[str, dict[str, Any]] = {
    "trial": {},
    "shell": {"task_type": "SHELL", "files": (KEY,)},
    "capability of less": {"drop_capabilities": ("ALL",)},
}


@pytest.mark.parametrize("kind", TASKS)
def test_a_task_without_root_that_asks_for_no_more_is_admitted(kind: str) -> None:
    own = {"spec": {"containers": [SIDECAR], "initContainers": [SIDECAR]}}
    terms = PodTerms(pool="default", pod_spec=own)
    given = {"user": ANN, **TASKS[kind], "allow_root": False}
    assert list(violations(built(spec=spec(**given), pod=terms).pod["spec"])) == []


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"add_capabilities": ("CAP_NET_ADMIN",)}, "added of determined-container"),
        ({"mounts": (Mount("/data", "/data"),)}, "volume hostPath"),
        ({"allow_root": True}, "escalation of determined-container"),
    ],
)
def test_a_task_that_asks_for_more_is_not(asked: dict[str, Any], found: str) -> None:
    made = built(spec=spec(**{"user": ANN, "allow_root": False, **asked}))
    assert found in list(violations(made.pod["spec"]))


def test_parts_of_an_admins_pod_keep_what_they_are_given() -> None:
    """A container of root keeps its capabilities, and a profile of the pod its file."""
    profile = {"type": "Localhost", "localhostProfile": "audit.json"}
    root = {"runAsUser": 0, "runAsNonRoot": False}
    own = {"spec": {
        "securityContext": {"seccompProfile": profile},
        "containers": [
            {**SIDECAR, "securityContext": root},
            {**SIDECAR, "name": "y", "securityContext": {"capabilities": {"add": ["NET_RAW"]}}},
        ],
    }}  # fmt: skip
    terms = PodTerms(pool="default", pod_spec=own)
    made = built(spec=spec(user=ANN, allow_root=False), pod=terms).pod["spec"]
    assert made["securityContext"]["seccompProfile"] == profile
    first, second, main = (c["securityContext"] for c in made["containers"])
    assert first == {"allowPrivilegeEscalation": False, **root}
    assert second["capabilities"] == {"add": ["NET_RAW"], "drop": ["ALL"]}
    assert main["capabilities"] == {"drop": ["ALL"]}


def test_a_placeholder_is_admitted() -> None:
    given = options(autoscaling=Autoscaling(image="pause:1", max_pods=9))
    made = placeholder(NodeRequest(allocation_id="7.x.1", slots=(1,)), 0, given)
    assert list(violations(made["spec"])) == []
