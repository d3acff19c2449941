"""The rules of Kubernetes' Pod Security Standards, level `restricted`.

Source: https://kubernetes.io/docs/concepts/security/pod-security-standards/
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

VOLUMES = frozenset(
    ("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "image",
     "persistentVolumeClaim", "projected", "secret")
)  # fmt: skip
PROFILES = ("RuntimeDefault", "Localhost")
Json = Mapping[str, Any]


def violations(spec: Json) -> Iterator[str]:
    """What `restricted` refuses of a pod's spec."""
    yield from (key for key in ("hostNetwork", "hostPID", "hostIPC") if spec.get(key))
    for volume in spec.get("volumes") or ():
        yield from (f"volume {kind}" for kind in volume if kind not in {*VOLUMES, "name"})
    whole = spec.get("securityContext") or {}
    for container in [*spec["containers"], *(spec.get("initContainers") or ())]:
        context = {**whole, **(container.get("securityContext") or {})}
        capabilities = context.get("capabilities") or {}
        faults = {
            "privileged": context.get("privileged"),
            "escalation": context.get("allowPrivilegeEscalation") is not False,
            "root": context.get("runAsNonRoot") is not True or context.get("runAsUser") == 0,
            "seccomp": (context.get("seccompProfile") or {}).get("type") not in PROFILES,
            "capabilities": "ALL" not in (capabilities.get("drop") or ()),
            "added": set(capabilities.get("add") or ()) - {"NET_BIND_SERVICE"},
            "ports": any(port.get("hostPort") for port in container.get("ports") or ()),
        }
        yield from (f"{fault} of {container['name']}" for fault, is_so in faults.items() if is_so)
