"""The command line and environment of Apptainer for a task. PURE.

The container's processes are children of the command, so the shim handles them like those of a
plain process. Files are exchanged through directories of the host.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from determined_agent.container.environment import (
    CONTAINER_RUN_DIR,
    ContainerStart,
    agent_variables,
)
from determined_agent.runtimes.harness import HARNESS_DIR
from determined_agent.settings.options import Settings

PREFIX = "APPTAINERENV_"
"""Prefix of variables that Apptainer sets inside the container."""


def command(
    program: str, start: ContainerStart, run_dir: str, harness: Mapping[str, str], source: str
) -> list[str]:
    """Return the command line.

    Args:
        program: path of Apptainer.
        start: the container.
        run_dir: directory of the host that is its /run/determined.
        harness: directories of the packages to mount, by import name.
        source: the image argument.

    Raises:
        ValueError: there is no entry point.
    """
    spec = start.spec
    if not spec.entrypoint:
        raise ValueError("the container's entry point is empty")
    # Without it root inside is root of the machine, and fails to start if that lacks privileges.
    words = [program, "exec", "--contain", "--cleanenv", "--writable-tmpfs", "--no-home"]
    words += ["--no-privs"]
    words += ["--pwd", spec.work_dir or f"{CONTAINER_RUN_DIR}/workdir"]
    binds = [f"{run_dir}:{CONTAINER_RUN_DIR}", f"{run_dir}/tmp:/tmp"]
    binds += [f"{path}:{HARNESS_DIR}/{name}:ro" for name, path in harness.items()]
    for mount in spec.mounts:
        mode = ":ro" if mount.read_only else ""
        binds.append(f"{mount.host_path}:{mount.container_path}{mode}")
    for bind in binds:
        words += ["--bind", bind]
    types = {d.type for d in start.devices}
    words += ["--nv"] * ("cuda" in types) + ["--rocm"] * ("rocm" in types)
    if spec.add_capabilities:
        words += ["--add-caps", ",".join(spec.add_capabilities)]
    if spec.drop_capabilities:
        words += ["--drop-caps", ",".join(spec.drop_capabilities)]
    return [*words, source, *spec.entrypoint]


def environment(
    start: ContainerStart, settings: Settings, outside: Mapping[str, str]
) -> dict[str, str]:
    """Return the environment of the command: its own variables, and those of the task.

    Args:
        start: the container.
        settings: the agent's.
        outside: the agent's environment; PATH, HOME and the cache directories are inherited.
    """
    env = start.spec.environment
    search = f"{HARNESS_DIR}:{env['PYTHONPATH']}" if env.get("PYTHONPATH") else HARNESS_DIR
    inside = {
        "PYTHONUNBUFFERED": "1",
        **env,
        **agent_variables(start, settings),
        "PYTHONPATH": search,
    }
    cuda = [d.uuid for d in start.devices if d.type == "cuda"]
    if cuda:
        inside["CUDA_VISIBLE_DEVICES"] = ",".join(cuda)
    rocm = [str(d.id) for d in start.devices if d.type == "rocm"]
    if rocm:
        inside["ROCR_VISIBLE_DEVICES"] = ",".join(rocm)
    own = {
        name: outside[name]
        for name in ("PATH", "HOME", "APPTAINER_CACHEDIR", "APPTAINER_TMPDIR", "XDG_RUNTIME_DIR")
        if outside.get(name)
    }
    # The shim finds leftover processes of a task by this variable.
    own["DET_CONTAINER_ID"] = start.container_id
    auth = start.spec.registry_auth
    if auth is not None and auth.username:
        own["APPTAINER_DOCKER_USERNAME"] = auth.username
        own["APPTAINER_DOCKER_PASSWORD"] = auth.password
    if start.spec.force_pull_image:
        own["APPTAINER_DISABLE_CACHE"] = "true"
    own.setdefault("PATH", os.defpath)
    return {**own, **{f"{PREFIX}{name}": value for name, value in inside.items()}}


def ignored_options(start: ContainerStart) -> list[str]:
    """List the options that this runtime ignores, as the configuration names them."""
    spec = start.spec
    ignored = {
        "resources.devices": spec.devices,
        "the network mode (containers use the machine's)": spec.network_mode not in ("", "host"),
    }
    names = [name for name, value in ignored.items() if value]
    outside = [f.path for f in spec.files if not f.path.startswith(f"{CONTAINER_RUN_DIR}/")]
    return names + [f"the file {path}" for path in outside]
