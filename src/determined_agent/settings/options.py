"""The agent's options: flags override DET_* variables, agent.yaml, and the defaults."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta

from determined_agent.machine_notices import MachineCloud
from determined_agent.settings.sources import SettingsSources
from determined_wire.masking import MASK
from determined_wire.settings_reader import SettingsError

__all__ = ["LoadedSettings", "Settings", "SettingsError", "load"]

SlotType = Literal["auto", "cuda", "gpu", "rocm", "cpu", "none"]
ContainerRuntime = Literal["docker", "podman", "apptainer", "process"]
LogLevel = Literal["trace", "debug", "info", "warn", "error", "fatal"]
GIB = 1024**3


class TlsSettings(msgspec.Struct, frozen=True):
    """How the agent verifies the master's certificate, and its own certificate."""

    enabled: Annotated[
        bool, Meta(description="Whether the agent connects to the master by HTTPS.")
    ] = False
    skip_verify: Annotated[
        bool, Meta(description="Accept any certificate of the master; for tests only.")
    ] = False
    master_cert: Annotated[
        str, Meta(description="File of authorities to trust; empty for those of the system.")
    ] = ""
    master_cert_name: Annotated[
        str, Meta(description="Expected name in the master's certificate.")
    ] = ""
    client_cert: Annotated[str, Meta(description="File of the agent's client certificate.")] = ""
    client_key: Annotated[str, Meta(description="File of its private key.")] = ""


class SecuritySettings(msgspec.Struct, frozen=True):
    tls: TlsSettings = TlsSettings()


class HookSettings(msgspec.Struct, frozen=True):
    """Commands that the agent runs."""

    on_connection_lost: Annotated[
        tuple[str, ...],
        Meta(description="Program and arguments to run when the agent gives up reconnecting."),
    ] = ()


class LogSettings(msgspec.Struct, frozen=True):
    level: Annotated[LogLevel, Meta(description="Lowest level to log.")] = "info"
    color: Annotated[bool, Meta(description="Whether to use colors on a terminal.")] = True


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All options, merged and checked."""

    master_host: Annotated[str, Meta(description="Host of the master; required.")]
    master_port: Annotated[
        int, Meta(ge=0, le=65535, description="Its port. Default: 80, with TLS 443.")
    ] = 0
    agent_id: Annotated[
        str, Meta(description="Name of this agent, unique in its cluster. Default: the host's.")
    ] = ""
    resource_pool: Annotated[str, Meta(description="Pool to join.")] = "default"
    slot_type: Annotated[
        SlotType,
        Meta(description="Devices that become slots; auto tries cuda, rocm, then cpu."),
    ] = "auto"
    visible_gpus: Annotated[
        str,
        Meta(
            description=(
                "Indexes or ids of the GPUs to use. Default: ROCR_VISIBLE_DEVICES or "
                "CUDA_VISIBLE_DEVICES."
            )
        ),
    ] = ""
    artificial_slots: Annotated[
        int, Meta(ge=0, description="Number of artificial devices to offer; for tests.")
    ] = 0
    container_master_host: Annotated[
        str, Meta(description="Host of the master as tasks reach it. Default: master_host.")
    ] = ""
    container_master_port: Annotated[
        int, Meta(ge=0, le=65535, description="Its port there. Default: master_port.")
    ] = 0
    security: SecuritySettings = SecuritySettings()
    hooks: HookSettings = HookSettings()
    log: LogSettings = LogSettings()
    join_token: Annotated[
        str, Meta(description="A join token, from `det -u admin agent token`.")
    ] = ""
    join_token_file: Annotated[str, Meta(description="File that holds the join token.")] = ""
    work_dir: Annotated[
        str,
        Meta(
            description=(
                "Parent of the tasks' directories. Default: $XDG_DATA_HOME/determined/agent, for "
                "root /var/lib/determined/agent."
            )
        ),
    ] = ""
    agent_reconnect_attempts: Annotated[
        int | None,
        Meta(
            description="Failed attempts to reach the master before giving up. Default: no limit."
        ),
    ] = None
    agent_reconnect_backoff: Annotated[
        int, Meta(ge=0, description="Seconds between attempts if their number is limited.")
    ] = 5
    container_runtime: Annotated[
        ContainerRuntime,
        Meta(
            description="Container runtime; process provides no isolation, see docs/security.md."
        ),
    ] = "docker"
    advertised_address: Annotated[
        str,
        Meta(
            description=(
                "Address at which other machines reach this one's containers. Default: that of "
                "the route to the master. One that the master does not see as the address of the "
                "agent's connection counts only in its security.agent_networks."
            )
        ),
    ] = ""
    docker_host: Annotated[
        str,
        Meta(
            description=(
                "Address of Docker's or Podman's socket, unix:///PATH or tcp://HOST:PORT. "
                "Default: DOCKER_HOST, else the usual socket of the runtime."
            )
        ),
    ] = ""
    apptainer_image_root: Annotated[
        str,
        Meta(
            description=(
                "Directory where the apptainer runtime searches images before it asks a registry."
            )
        ),
    ] = ""
    container_pids_limit: Annotated[
        int, Meta(ge=0, description="Limit of processes and threads per container; 0 for none.")
    ] = 32768
    container_memory_limit: Annotated[
        int,
        Meta(
            ge=0,
            description=(
                "Limit of a task's memory in bytes, for the process runtime; 0 for none. It "
                "needs a cgroup."
            ),
        ),
    ] = 0
    process_isolation: Annotated[
        bool,
        Meta(
            description=(
                "Whether tasks of the process runtime that run as another account than the agent "
                "have a /tmp of their own and see only their own processes, where the kernel "
                "allows it."
            )
        ),
    ] = True
    machine_cloud: Annotated[
        MachineCloud,
        Meta(
            description=(
                "The cloud whose metadata service announces the end of this machine, aws or gcp. "
                "Machines of a provider have it set."
            )
        ),
    ] = ""
    log_spool_bytes: Annotated[
        int, Meta(ge=0, description="Limit of a task's output that is not stored yet.")
    ] = GIB
    http_proxy: Annotated[str, Meta(description="Passed to tasks as HTTP_PROXY.")] = ""
    https_proxy: Annotated[str, Meta(description="Passed to tasks as HTTPS_PROXY.")] = ""
    ftp_proxy: Annotated[str, Meta(description="Passed to tasks as FTP_PROXY.")] = ""
    no_proxy: Annotated[str, Meta(description="Passed to tasks as NO_PROXY.")] = ""
    debug: Annotated[bool, Meta(description="The same as log.level debug.")] = False
    container_auto_remove_disabled: Annotated[
        bool, Meta(description="Keep ended containers for inspection; for docker and podman.")
    ] = False
    api_enabled: Annotated[
        bool,
        Meta(description="Serve /health and /debug/stacks for debugging."),
    ] = False
    bind_ip: Annotated[
        str, Meta(description="Address that api_enabled listens on; 0.0.0.0 for all.")
    ] = "127.0.0.1"
    bind_port: Annotated[
        int, Meta(ge=0, le=65535, description="Port that api_enabled listens on.")
    ] = 9090
    tls: Annotated[bool, Meta(description="Whether api_enabled serves HTTPS.")] = False
    tls_cert: Annotated[str, Meta(description="File of its certificate chain.")] = ""
    tls_key: Annotated[str, Meta(description="File of its private key.")] = ""

    def masked(self) -> dict[str, Any]:
        """Return all options as JSON values, with secrets as `********`."""
        masked: dict[str, Any] = msgspec.to_builtins(self)
        for name in PROXIES:
            masked[name] = _CREDENTIALS.sub(rf"\g<1>{MASK}@", masked[name])
        return {**masked, "join_token": MASK if self.join_token else ""}


class LoadedSettings(NamedTuple):
    """The settings and the warnings about them."""

    settings: Settings
    warnings: tuple[str, ...]


REFUSED: dict[str, str] = {
    "label": "was removed: use resource_pool",
    "image_root": "was never read: for container_runtime apptainer set apptainer_image_root",
    "config_file": "names this very file: give it as --config-file or DET_CONFIG_FILE",
}
"""Options of older agents that are refused, and what to do instead."""

IGNORED: dict[str, str] = {
    "fluent": "has no effect: the agent itself reads what tasks write; remove the section",
}
"""Options of older agents that had no effect there either; they cause a warning."""

PROXIES = ("http_proxy", "https_proxy", "ftp_proxy", "no_proxy")
_CREDENTIALS = re.compile(r"((?:^|//))[^/@]*@")


def load(
    argv: Sequence[str], env: Mapping[str, str], *, is_root: bool | None = None
) -> LoadedSettings:
    """Read all sources.

    Args:
        argv: without the program's name.
        env: the environment.
        is_root: whether the agent runs as root; detected by default.

    Raises:
        SettingsError: with every error and its path.
        SystemExit: for `--help`, `version`, `completion` and unknown flags.
    """
    sources = SettingsSources(Settings, REFUSED, IGNORED)
    sources.read(argv, env)
    tree = sources.tree
    _check(sources)
    root = os.geteuid() == 0 if is_root is None else is_root
    defaults = {
        "master_port": 443 if _section(tree, "security", "tls").get("enabled") else 80,
        "agent_id": socket.gethostname(),
        "visible_gpus": env.get("ROCR_VISIBLE_DEVICES", env.get("CUDA_VISIBLE_DEVICES", "")),
        "work_dir": _work_dir(env, root),
        "resource_pool": "default",
    }
    for key, value in defaults.items():
        tree[key] = tree.get(key) or value
    if tree.get("debug") is True:
        tree["log"] = {**(tree.get("log") or {}), "level": "debug"}
    return LoadedSettings(sources.build(), tuple(sources.warnings))


def _check(sources: SettingsSources) -> None:
    """Record options that contradict each other."""
    tree = sources.tree
    tls = _section(tree, "security", "tls")
    if not tree.get("master_host"):
        sources.problem("master_host", "is required: set it to the host of the master")
    if tls.get("skip_verify") and tls.get("master_cert"):
        sources.problem("security.tls", "skip_verify and master_cert must not both be set")
    if bool(tls.get("client_cert")) != bool(tls.get("client_key")):
        sources.problem("security.tls", "client_cert and client_key must both be set, or neither")
    for name in sorted(tls) if not tls.get("enabled") else ():
        if tls[name]:
            text = "has no effect: the agent connects without TLS; set security.tls.enabled"
            sources.warnings.append(f"security.tls.{name} {text}")
    if tree.get("join_token") and tree.get("join_token_file"):
        sources.problem("join_token", "and join_token_file must not both be set")
    if tree.get("api_enabled") and tree.get("tls"):
        for name in ("tls_cert", "tls_key"):
            if not tree.get(name):
                sources.problem(name, "is required when api_enabled and tls are set")
    _check_runtime(sources)
    name = tree.get("agent_id") or ""
    if "/" in name or name.startswith("."):
        text = f'"{name}" is not a valid directory name: leave out slashes and leading dots'
        sources.problem("agent_id", text)


def _check_runtime(sources: SettingsSources) -> None:
    """Record options that do not apply to the container runtime."""
    tree = sources.tree
    runtime = tree.get("container_runtime")
    if tree.get("container_auto_remove_disabled") and runtime in ("process", "apptainer"):
        text = f"is for docker and podman: {runtime} keeps no ended containers; remove it"
        sources.problem("container_auto_remove_disabled", text)
    root = tree.get("apptainer_image_root")
    if root and runtime != "apptainer":
        text = f"is for container_runtime apptainer, this one is {runtime or 'docker'}; remove it"
        sources.problem("apptainer_image_root", text)
    elif root and not str(root).startswith("/"):
        sources.problem("apptainer_image_root", f'"{root}" is relative: give an absolute path')


def _section(tree: Mapping[str, Any], *path: str) -> Mapping[str, Any]:
    for part in path:
        tree = tree.get(part) or {}
    return tree


def _work_dir(env: Mapping[str, str], is_root: bool) -> str:
    if is_root:
        return "/var/lib/determined/agent"
    home = env.get("XDG_DATA_HOME") or os.path.join(env.get("HOME", ""), ".local/share")
    return os.path.join(home, "determined", "agent")
