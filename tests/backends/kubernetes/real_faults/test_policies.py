"""A real cluster whose policy forbids what a user's pod spec asks for.

Kubernetes 1.20 has PodSecurityPolicies; its successor, Pod Security Admission, and webhooks answer
with the same status and other words.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.backends.kubernetes.real_faults.conftest import create_node, world_at
from tests.contracts.kubernetes_contract import World
from tests.contracts.kubernetes_faults_contract import failure_of
from tests.real_kubernetes.control_plane import ControlPlane, control_plane

from determined_master.backends.kubernetes.client import Json, KubernetesApi
from determined_master.ports.orders import PodTerms

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("policies of a real cluster")]
ANY = {"rule": "RunAsAny"}
RIGHTS = [
    {"apiGroups": ["", "scheduling.k8s.io"], "resources": ["*"], "verbs": ["*"]},
    {
        "apiGroups": ["policy"],
        "resources": ["podsecuritypolicies"],
        "resourceNames": ["usual"],
        "verbs": ["use"],
    },
]


@pytest.fixture
def plane(programs: Path, tmp_path: Path) -> Iterator[ControlPlane]:
    policies = "--enable-admission-plugins=PodSecurityPolicy"
    with control_plane(tmp_path, programs, policies) as made:
        made.run_controllers()
        yield made


@pytest.fixture
async def world(plane: ControlPlane, master: int, tmp_path: Path) -> AsyncIterator[World]:
    """A master whose account may use one policy, by which no pod is privileged."""
    admin = KubernetesApi(str(plane.server.kubeconfig))
    policy = {
        "metadata": {"name": "usual"},
        "spec": {
            "privileged": False,
            "volumes": ["*"],
            **dict.fromkeys(("seLinux", "runAsUser", "fsGroup", "supplementalGroups"), ANY),
        },
    }
    await admin.call("POST", "/apis/policy/v1beta1/podsecuritypolicies", body=policy)
    rights = "/apis/rbac.authorization.k8s.io/v1"
    role = {"metadata": {"name": "det"}, "rules": RIGHTS}
    await admin.call("POST", f"{rights}/clusterroles", body=role)
    group = "rbac.authorization.k8s.io"
    binding = {
        "metadata": {"name": "det"},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "det"},
        "subjects": [{"apiGroup": group, "kind": "User", "name": "det"}],
    }
    await admin.call("POST", f"{rights}/clusterrolebindings", body=binding)
    await create_node(admin, "alone")
    await admin.close()
    kubeconfig = plane.server.kubeconfig_for("task", tmp_path / "det.kubeconfig")
    async with world_at(str(kubeconfig), master) as made:
        await made.open()
        yield made


def with_sidecar(context: Json) -> PodTerms:
    side = {"name": "side", "image": "side:1", "securityContext": context}
    return PodTerms(pool="default", pod_spec={"spec": {"containers": [side]}})


@pytest.mark.parametrize(
    ("own", "said"),
    [
        (with_sidecar({"privileged": True}), "Privileged containers are not allowed"),
        (
            PodTerms(pool="default", pod_spec={"spec": {"hostPID": True}}),
            "Host PID is not allowed to be used",
        ),
    ],
)
async def test_a_pod_spec_that_a_real_policy_forbids_is_refused_with_its_text(
    world: World, own: PodTerms, said: str
) -> None:
    made = world.order("true", pod=own)
    await world.backend.start_container(made)
    failure = failure_of(world, made)
    assert failure.startswith("a policy of the cluster does not admit the task's pod")
    assert said in failure
    assert (await world.count("pods"), await world.count("secrets")) == (0, 0)


async def test_a_pod_spec_that_a_real_policy_allows_is_taken(world: World) -> None:
    made = world.order("true", pod=with_sidecar({"privileged": False}))
    await world.backend.start_container(made)
    assert world.backend.pod_of(made.container_id) is not None
