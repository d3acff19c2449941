"""The Secrets of a container's pod: its variables and files, and its registry's password. PURE."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from determined_master.backends.kubernetes.manifest.files import RootFile, user_archive
from determined_master.backends.kubernetes.manifest.volumes import TRUST
from determined_master.domain.pods.pull_secrets import HUB_HOST, registry_of, serves
from determined_wire.agent_link import ContainerSpec, RegistryAuth

Json = dict[str, Any]

_HUB = "https://index.docker.io/v1/"
"""The key under which kubelets look for credentials of Docker Hub."""


def secret_variable(secret: str, n: int, name: str) -> Json:
    return {"name": name, "valueFrom": {"secretKeyRef": {"name": secret, "key": f"env.{n}"}}}


def secret_data(
    plain: Mapping[str, str],
    hidden: Mapping[str, str],
    spec: ContainerSpec,
    owned_by_root: list[RootFile],
    prepare: str,
) -> dict[str, str]:
    """The data of the Secret of a container.

    Args:
        plain: the variables that the pod names, in its order.
        hidden: those that the container reads from a file.
        spec: has the user's files.
        owned_by_root: the other files.
        prepare: source of the program that prepares the container.
    """
    content = {f"env.{n}": value.encode() for n, value in enumerate(plain.values())}
    content["variables.json"] = json.dumps(hidden).encode()
    content["files.tar.gz"] = user_archive(spec)
    content["prepare.py"] = prepare.encode()
    for file in owned_by_root:
        content[file.key] = file.content
        if file.path == TRUST:
            content["master.crt"] = file.content
    return {key: base64.b64encode(value).decode() for key, value in content.items()}


def pull_secret_data(auth: RegistryAuth | None, image: str) -> dict[str, str] | None:
    """The data of the Secret by which the image is pulled; None without credentials for that."""
    if auth is None or not serves(auth, image):
        return None
    registry = registry_of(image)
    pair = f"{auth.username}:{auth.password}".encode()
    entry = {
        "username": auth.username,
        "password": auth.password,
        "auth": base64.b64encode(pair).decode(),
        "identitytoken": auth.identity_token,
    }
    key = _HUB if registry == HUB_HOST else registry
    config = {"auths": {key: {name: value for name, value in entry.items() if value}}}
    return {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}
