"""The volumes of a container's pod, and where its containers have them. PURE."""

from __future__ import annotations

from typing import Any

from determined_master.backends.kubernetes.manifest.files import RUN_DIR, RootFile
from determined_master.backends.kubernetes.manifest.layers import host_path_of
from determined_wire.agent_link import ContainerSpec, Mount

Json = dict[str, Any]

ORDER_DIR = "/run/determined-order"
SPACE_DIR = "/run/determined-space"
HARNESS_DIR = "/opt/determined/harness"
SHM_DIR = "/dev/shm"
TRUST = f"{RUN_DIR}/etc/ssl/master.crt"
_FOLDERS = {"private": "None", "rslave": "HostToContainer", "rshared": "Bidirectional"}
"""Propagation of a mount: Docker's word and Kubernetes'; the node decides about others."""


def volumes_of(spec: ContainerSpec, secret: str, owned_by_root: list[RootFile]) -> list[Json]:
    keys = ["files.tar.gz", "prepare.py"]
    keys += ["master.crt"] if any(f.path == TRUST for f in owned_by_root) else []
    shm: Json = {"medium": "Memory"}
    if spec.shm_size_bytes:
        shm["sizeLimit"] = str(spec.shm_size_bytes)
    found: list[Json] = [
        {
            "name": "det-order",
            "secret": {
                "secretName": secret,
                "items": [{"key": key, "path": key} for key in keys],
            },
        },
        {"name": "det-space", "emptyDir": {}},
        {"name": "det-shm-volume", "emptyDir": shm},
    ]
    if owned_by_root:
        items = [{"key": f.key, "path": f.key, "mode": f.mode} for f in owned_by_root]
        found.append({"name": "root-volume", "secret": {"secretName": secret, "items": items}})
    found += [
        {"name": f"det-host-volume-{n}", "hostPath": {"path": host_path_of(mount, spec)[0]}}
        for n, mount in enumerate(spec.mounts)
    ]
    return found


def mounts_of(spec: ContainerSpec, owned_by_root: list[RootFile]) -> list[Json]:
    found: list[Json] = [
        {"name": "det-space", "mountPath": RUN_DIR, "subPath": "run"},
        {"name": "det-space", "mountPath": HARNESS_DIR, "subPath": "harness", "readOnly": True},
        {"name": "det-shm-volume", "mountPath": SHM_DIR},
    ]
    found += [
        {"name": "root-volume", "mountPath": f.path, "subPath": f.key, "readOnly": True}
        for f in owned_by_root
    ]
    return found + [_host_mount(n, mount, spec) for n, mount in enumerate(spec.mounts)]


def _host_mount(n: int, mount: Mount, spec: ContainerSpec) -> Json:
    target = mount.container_path
    if not target.startswith("/"):
        target = f"{spec.work_dir or f'{RUN_DIR}/workdir'}/{target}"
    found: Json = {
        "name": f"det-host-volume-{n}",
        "mountPath": target,
        "readOnly": mount.read_only,
    }
    below = host_path_of(mount, spec)[1]
    if below:
        found["subPath"] = below
    if mount.propagation in _FOLDERS:
        found["mountPropagation"] = _FOLDERS[mount.propagation]
    return found
