"""The volumes of a container's pod, and where its containers have them. PURE."""

from __future__ import annotations

import posixpath
from typing import Any

from determined_master.backends.kubernetes.manifest.files import ETC_DIR, RUN_DIR, RootFile
from determined_master.backends.kubernetes.manifest.layers import host_path_of
from determined_wire.agent_link import ContainerSpec, Mount

Json = dict[str, Any]

ORDER_DIR = "/run/determined-order"
SPACE_DIR = "/run/determined-space"
HARNESS_DIR = "/opt/determined/harness"
SHM_DIR = "/dev/shm"
SSH_DIR = f"{RUN_DIR}/ssh"
TRUST = f"{RUN_DIR}/etc/ssl/master.crt"
_FOLDERS = {"private": "None", "rslave": "HostToContainer", "rshared": "Bidirectional"}
"""Propagation of a mount: Docker's word and Kubernetes'; the node decides about others."""
ROOTS_ALONE, FOR_ALL = 0o400, 0o444


def needs_init(spec: ContainerSpec, mounts: list[Json], owned_by_root: list[RootFile]) -> bool:
    """Whether an init container prepares the files, in place of the task's own container.

    The kubelet makes the directory of a volume as root's and open to all. Root closes it. For
    another user, sshd refuses keys below such a directory, and a directory in which something is
    mounted would be root's too. An init container makes all directories before that.

    Args:
        spec: the container.
        mounts: of the user's pod.
        owned_by_root: mounted one by one.
    """
    if not spec.user.uid:
        return False
    if any(file.path.startswith(f"{SSH_DIR}/") for file in spec.files if not file.is_root_owned):
        return True
    targets = [str(mount.get("mountPath") or "") for mount in mounts]
    targets += [_target(mount, spec) for mount in spec.mounts]
    targets += [file.path for file in owned_by_root if not file.is_in_etc]
    return any(_is_in_run_dir(path) for path in targets)


def _is_in_run_dir(path: str) -> bool:
    path = posixpath.normpath("/" + path.lstrip("/"))
    return path.removeprefix("/var").startswith(f"{RUN_DIR}/")  # /var/run is a link to /run


def volumes_of(
    spec: ContainerSpec, secret: str, owned_by_root: list[RootFile], *, has_init: bool
) -> list[Json]:
    """The volumes; `has_init` as `needs_init` says."""
    keys = ["files.tar.gz", "prepare.py", *(() if has_init else ("variables.json",))]
    keys += ["master.crt"] if any(f.path == TRUST for f in owned_by_root) else []
    items: list[Json] = [{"key": key, "path": key} for key in keys]
    alone = [f for f in owned_by_root if not f.is_in_etc]
    items += [{"key": f.key, "path": f.key, "mode": f.mode} for f in alone]
    mode = FOR_ALL if spec.user.uid else ROOTS_ALONE
    order = {"secretName": secret, "items": items, "defaultMode": mode}
    start = len(ETC_DIR) + 1
    etc = [
        {"key": f.key, "path": f.path[start:], "mode": f.mode}
        for f in owned_by_root
        if f.is_in_etc
    ]
    shm: Json = {"medium": "Memory"}
    if spec.shm_size_bytes:
        shm["sizeLimit"] = str(spec.shm_size_bytes)
    # Hundreds of small files: a disk takes three tenths of a second for them.
    harness = {"name": "det-harness", "emptyDir": {"medium": "Memory"}}
    spaces = [{"name": "det-run", "emptyDir": {}}, harness]
    volumes: list[Json] = [
        {"name": "det-order", "secret": order},
        {"name": "root-volume", "secret": {"secretName": secret, "items": etc}},
        *([{"name": "det-space", "emptyDir": {}}] if has_init else spaces),
        {"name": "det-shm-volume", "emptyDir": shm},
    ]
    volumes += [
        {"name": f"det-host-volume-{n}", "hostPath": {"path": host_path_of(mount, spec)[0]}}
        for n, mount in enumerate(spec.mounts)
    ]
    return volumes


def mounts_of(spec: ContainerSpec, owned_by_root: list[RootFile], *, has_init: bool) -> list[Json]:
    """Where the task's container has them.

    It writes bytecode beside the harness: each of its processes would compile it again.
    """
    if has_init:
        mounts: list[Json] = [
            {"name": "det-space", "mountPath": RUN_DIR, "subPath": "run"},
            {"name": "det-space", "mountPath": HARNESS_DIR, "subPath": "harness"},
        ]
    else:
        mounts = [
            order_mount(),
            {"name": "det-run", "mountPath": RUN_DIR},
            {"name": "det-harness", "mountPath": HARNESS_DIR},
        ]
    mounts += [
        {"name": "det-shm-volume", "mountPath": SHM_DIR},
        {"name": "root-volume", "mountPath": ETC_DIR, "readOnly": True},
    ]
    mounts += [
        {"name": "det-order", "mountPath": f.path, "subPath": f.key, "readOnly": True}
        for f in owned_by_root
        if not f.is_in_etc
    ]
    return mounts + [_host_mount(n, mount, spec) for n, mount in enumerate(spec.mounts)]


def order_mount() -> Json:
    """Of the container that prepares the files."""
    return {"name": "det-order", "mountPath": ORDER_DIR, "readOnly": True}


def _target(mount: Mount, spec: ContainerSpec) -> str:
    target = mount.container_path
    if target.startswith("/"):
        return target
    return f"{spec.work_dir or f'{RUN_DIR}/workdir'}/{target}"


def _host_mount(n: int, mount: Mount, spec: ContainerSpec) -> Json:
    mount_body: Json = {
        "name": f"det-host-volume-{n}",
        "mountPath": _target(mount, spec),
        "readOnly": mount.read_only,
    }
    below = host_path_of(mount, spec)[1]
    if below:
        mount_body["subPath"] = below
    if mount.propagation in _FOLDERS:
        mount_body["mountPropagation"] = _FOLDERS[mount.propagation]
    return mount_body
