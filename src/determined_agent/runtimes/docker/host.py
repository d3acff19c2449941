"""Which daemon the agent speaks to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

DOCKER = "unix:///var/run/docker.sock"
PODMAN = "unix:///run/podman/podman.sock"


def docker_host(setting: str, runtime: str, env: Mapping[str, str]) -> str:
    """The daemon's address.

    The setting, else DOCKER_HOST, else where Docker or Podman listens by default; a Podman of
    the agent's own user before the machine's.
    """
    if setting or env.get("DOCKER_HOST"):
        return setting or env["DOCKER_HOST"]
    if runtime != "podman":
        return DOCKER
    own = Path(env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "podman/podman.sock"
    return f"unix://{own}" if own.exists() else PODMAN
