"""The claim by which a pod gets its devices."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace
from tests.backends.kubernetes.objects import built, main_of, options, order

from determined_master.backends.kubernetes.manifest.objects import Objects, build
from determined_master.backends.kubernetes.manifest.pod import Extras
from determined_master.ports.orders import PodTerms
from determined_wire.agent_link import File, TaskUser

CLASS = options(slot_type="cuda", device_class="gpu.nvidia.com")


def made(slots: int = 2, version: str = "v1", given: Any = CLASS, **more: Any) -> Objects:
    extras = Extras("print()", "determined-priority-50", device_api=version)
    return build(order(slots, **more), given, extras)


def test_a_pod_has_a_claim_for_as_many_devices_as_it_has_slots() -> None:
    parts = made()
    assert parts.claim is not None
    name = f"{parts.name}-slots"
    assert parts.claim["apiVersion"] == "resource.k8s.io/v1"
    assert parts.claim["metadata"]["name"] == name
    assert parts.claim["metadata"]["labels"] == parts.pod["metadata"]["labels"]
    exact = {"deviceClassName": "gpu.nvidia.com", "allocationMode": "ExactCount", "count": 2}
    assert parts.claim["spec"] == {"devices": {"requests": [{"name": "slots", "exactly": exact}]}}
    spec = parts.pod["spec"]
    assert spec["resourceClaims"] == [{"name": "det-slots", "resourceClaimName": name}]
    assert main_of(parts.pod)["resources"] == {"claims": [{"name": "det-slots"}]}
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in spec["tolerations"]
    owner = parts.owned(parts.claim, "u-1")["metadata"]["ownerReferences"]
    assert owner == [{"apiVersion": "v1", "kind": "Pod", "name": parts.name, "uid": "u-1"}]


def test_the_first_beta_version_has_the_request_in_one_piece() -> None:
    parts = made(version="v1beta1")
    assert parts.claim is not None
    [request] = parts.claim["spec"]["devices"]["requests"]
    assert (request["name"], request["count"], "exactly" in request) == ("slots", 2, False)


@pytest.mark.parametrize(("slots", "given"), [(0, CLASS), (2, options(slot_type="cuda"))])
def test_a_pod_without_slots_or_without_a_class_has_no_claim(slots: int, given: Any) -> None:
    parts = made(slots, given=given)
    assert parts.claim is None
    assert "resourceClaims" not in parts.pod["spec"]


def test_claims_of_a_pod_spec_stay_and_resources_of_a_device_plugin_do_not() -> None:
    asked = {"nvidia.com/gpu": 1, "rdma/hca": 1}
    main = {
        "name": "determined-container",
        "resources": {"claims": [{"name": "net"}], "limits": asked},
    }
    net = {"name": "net", "resourceClaimTemplateName": "fast"}
    spec = {"containers": [main], "resourceClaims": [net]}
    parts = made(pod=PodTerms(pool="default", pod_spec={"spec": spec}))
    assert [c["name"] for c in parts.pod["spec"]["resourceClaims"]] == ["net", "det-slots"]
    assert main_of(parts.pod)["resources"] == {
        "limits": {"rdma/hca": 1},
        "claims": [{"name": "net"}, {"name": "det-slots"}],
    }
    plain = built(pod=PodTerms(pool="default", pod_spec={"spec": spec}))
    assert main_of(plain.pod)["resources"]["claims"] == [{"name": "net"}]


def test_an_init_container_has_no_claim() -> None:
    key = File("/run/determined/ssh/id_rsa", b"key", 0o600)
    spec = replace(order(2).spec, user=TaskUser("ann", 1234, "lab", 1235), files=(key,))
    parts = made(spec=spec)
    [init] = parts.pod["spec"]["initContainers"]
    assert init["resources"] == {}


@pytest.mark.parametrize(
    ("slots", "spec", "said"),
    [
        (33, {}, "the pod has 33 slots, and Kubernetes allocates at most 32 devices"),
        (1, {"resourceClaims": [{"name": "det-slots"}]}, "has a resource claim det-slots"),
    ],
)
def test_a_pod_that_kubernetes_would_refuse_is_refused_with_the_remedy(
    slots: int, spec: dict[str, Any], said: str
) -> None:
    with pytest.raises(ValueError, match=said):
        made(slots, pod=PodTerms(pool="default", pod_spec={"spec": spec}))


def test_a_malformed_list_of_claims_is_refused() -> None:
    terms = PodTerms(pool="default", pod_spec={"spec": {"resourceClaims": "x"}})
    with pytest.raises(ValueError, match=r"spec\.resourceClaims: expected array"):
        made(pod=terms)
