"""A pod spec with parts of wrong types: its own task is refused, and no other one waits for it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from tests.attacks.test_machine_parts import LIMITS, layers
from tests.backends.kubernetes.objects import built, demand_of, options, spec
from tests.domain.config.builders import ConfigErrors, build, problems

from determined_master.backends.kubernetes.manifest.placeholder import placeholder
from determined_master.backends.kubernetes.options import Autoscaling
from determined_master.backends.kubernetes.watches.watch import ObjectsListed
from determined_master.domain.pods.needs import needs_of
from determined_master.ports.kubernetes import NodeRequest
from determined_master.ports.orders import PodTerms

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PLACES = [
    "metadata", "metadata.labels", "metadata.annotations", "spec", "spec.affinity",
    "spec.affinity.nodeAffinity", f"spec.affinity.nodeAffinity.{REQUIRED}",
    f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms", "spec.containers",
    "spec.imagePullSecrets", "spec.initContainers", "spec.nodeSelector", "spec.overhead",
    "spec.priorityClassName", "spec.resourceClaims", "spec.resources", "spec.schedulerName",
    "spec.securityContext", "spec.serviceAccountName", "spec.terminationGracePeriodSeconds",
    "spec.tolerations", "spec.topologySpreadConstraints", "spec.volumes",
]  # fmt: skip
OF_CONTAINERS = [
    "command", "env", "envFrom", "name", "ports", "resources", "resources.claims",
    "resources.limits", "resources.requests", "securityContext", "securityContext.capabilities",
    "securityContext.capabilities.add", "volumeDevices", "volumeMounts",
]  # fmt: skip
ODD: list[Any] = [
    None, 5, -1, 1.5, True, "x", "", [], {}, [None], [5], ["x"], [[]], {"a": None}, {"a": 5},
    {"a": {"b": [1]}}, [{"a": 1}], [{"name": 5}], [{"name": None}], [{"name": ["x"]}], 10**30,
]  # fmt: skip
ADMINS: dict[str, Any] = {
    "metadata": {"labels": {"a": "b"}},
    "spec": {
        "containers": [{"name": "x", "image": "y", "env": [{"name": "a"}]}],
        "nodeSelector": {"a": "b"},
        "volumes": [{"name": "v", "emptyDir": {}}],
    },
}


def put(place: str, value: Any, into: dict[str, Any] | None = None) -> dict[str, Any]:
    found = into if into is not None else {}
    *way, last = place.split(".")
    at = found
    for key in way:
        at = at.setdefault(key, {})
    at[last] = value
    return found


def pods() -> Iterator[dict[str, Any]]:
    for value in ODD:
        for place in PLACES:
            yield put(place, value)
        for place in OF_CONTAINERS:
            for key, name in (
                ("containers", "determined-container"),
                ("containers", "x"),
                ("initContainers", "x"),
            ):
                container = put(place, value, {"name": name, "image": "x"})
                yield {"spec": {key: [container]}}


def test_every_odd_pod_is_refused_with_a_reason_or_built() -> None:
    given = options(autoscaling=Autoscaling(image="pause:1", max_pods=9))
    refused = 0
    for pod in pods():
        try:
            made = build(
                layers(**LIMITS, cpu_pod_spec=ADMINS),
                environment={"pod_spec": pod},
                resources={"slots_per_trial": 0},
            )
        except ConfigErrors:
            refused += 1
            merged = pod
        else:
            merged = made.config["environment"]["pod_spec"]
        needs_of(merged)
        for allow_root in (True, False):
            with contextlib.suppress(ValueError):
                terms = PodTerms(pool="default", pod_spec=merged, trial_id="5")
                built(1, given, pod=terms, spec=spec(allow_root=allow_root))
        with contextlib.suppress(ValueError):
            placeholder(NodeRequest(allocation_id="a", slots=(1,), pod_spec=merged), 0, given)
    assert refused > 700


@pytest.mark.parametrize(
    ("pod", "problem"),
    [
        ({"spec": []}, "spec: expected object or null, but got array"),
        ({"spec": {"containers": {}}}, "spec.containers: expected array or null, but got object"),
        (
            {"spec": {"init_containers": [{"env": "A=b"}]}},
            "spec.initContainers[0].env: expected array or null, but got string",
        ),
        (
            {"spec": {"terminationGracePeriodSeconds": "60"}},
            "spec.terminationGracePeriodSeconds: expected integer or null, but got string",
        ),
        ({"spec": {"volumes": [None]}}, "spec.volumes[0]: expected object or null, but got null"),
    ],
)
def test_the_problem_names_the_part_and_its_type(pod: dict[str, Any], problem: str) -> None:
    assert problems(environment={"pod_spec": pod}) == [f"environment.pod_spec.{problem}"]
    with pytest.raises(ValueError, match=r"^environment\.pod_spec\.spec.*: expected "):
        built(pod=PodTerms(pool="default", pod_spec=pod))


class Api:
    """Takes every object."""

    def __init__(self) -> None:
        self.made: list[str] = []

    async def call(self, method: str, path: str, **more: Any) -> dict[str, Any]:
        if method == "POST":
            self.made.append(path.rpartition("/")[2])
            body: dict[str, Any] = more["body"]
            return body
        return {"items": []}


@pytest.mark.parametrize("demand", ["pods", "provisioning_request"])
async def test_an_odd_pod_does_not_keep_others_from_being_asked_for(
    demand: Literal["pods", "provisioning_request"],
) -> None:
    """One of a configuration that was stored before types were checked."""
    api = Api()
    scaling = Autoscaling(demand=demand, image="pause:1", max_pods=9)
    made = demand_of(options(autoscaling=scaling), api)
    made.take(ObjectsListed([]))
    odd = NodeRequest(allocation_id="6.x.1", slots=(1,), pod_spec={"spec": {"containers": 5}})
    made.request("default", (odd, NodeRequest(allocation_id="7.x.1", slots=(1,))))
    await made.reconcile()
    assert api.made == (["pods"] if demand == "pods" else ["podtemplates", "provisioningrequests"])
    assert made.asked("7.x.1") is not None
    assert made.asked("6.x.1") is None
