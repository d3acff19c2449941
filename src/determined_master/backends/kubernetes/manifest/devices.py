"""The claim by which a pod gets the devices of its slots. PURE.

One claim is a part of one pod, as its Secrets are, so Kubernetes deletes it with the pod. It is
created after the pod, which Kubernetes' scheduler places when it is there. A template would need
a further object, and a controller between the two.

Source: `ResourceClaim` of Kubernetes' `resource.k8s.io` in `v1`, `v1beta2` and `v1beta1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.domain.pods.devices.claims import MAX_SLOTS

Json = dict[str, Any]

GROUP = "/apis/resource.k8s.io"
VERSIONS = ("v1", "v1beta2", "v1beta1")
"""That the master can use, the best first."""
CLAIM = "det-slots"
"""How the pod calls the claim."""
_REQUEST = "slots"


def slots_claim(
    slots: int, metadata: Mapping[str, Any], options: ClusterOptions, version: str
) -> Json | None:
    """The claim of a pod; None where its slots are no such devices.

    Args:
        slots: of the pod.
        metadata: of the pod's other objects.
        options: of the cluster.
        version: of the API that the cluster serves.

    Raises:
        ValueError: Kubernetes does not allocate that number of devices to one pod.
    """
    if not slots or not options.device_class:
        return None
    if slots > MAX_SLOTS:
        raise ValueError(
            f"the pod has {slots} slots, and Kubernetes allocates at most {MAX_SLOTS} devices to "
            f"a claim: set resource_manager.max_slots_per_pod to {MAX_SLOTS} or less"
        )
    exact: Json = {
        "deviceClassName": options.device_class,
        "allocationMode": "ExactCount",
        "count": slots,
    }
    if options.device_selector:
        exact["selectors"] = [{"cel": {"expression": options.device_selector}}]
    own = exact if version == "v1beta1" else {"exactly": exact}
    return {
        "apiVersion": f"resource.k8s.io/{version}",
        "kind": "ResourceClaim",
        "metadata": {**metadata, "name": names.slots_claim_name(metadata["name"])},
        "spec": {"devices": {"requests": [{"name": _REQUEST, **own}]}},
    }


def name_claim(spec: Json, main: Json, slots: int, name: str, options: ClusterOptions) -> None:
    """Have a pod and its task's container use the claim for its slots, in place.

    Args:
        spec: of the pod.
        main: the task's container.
        slots: of the pod.
        name: of the pod.
        options: of the cluster.

    Raises:
        ValueError: the pod spec has a claim of that name itself.
    """
    if not slots or not options.device_class:
        return
    claims = spec.get("resourceClaims") or []
    if any(one.get("name") == CLAIM for one in claims):
        raise ValueError(
            f"the pod spec has a resource claim {CLAIM}, as the pool's own: rename it"
        )
    ours = {"name": CLAIM, "resourceClaimName": names.slots_claim_name(name)}
    spec["resourceClaims"] = [*claims, ours]
    resources = main["resources"]
    main["resources"] = {
        **resources,
        "claims": [*resources.get("claims", []), {"name": CLAIM}],
    }
