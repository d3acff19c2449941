"""What the agent is told by its admin."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec

SlotType = Literal["auto", "cuda", "gpu", "rocm", "cpu", "none"]
ContainerRuntime = Literal["docker", "podman", "apptainer", "process"]
GIB = 1024**3


class TlsSettings(msgspec.Struct, frozen=True):
    """How the agent checks the master's certificate and shows its own."""

    enabled: bool = False
    skip_verify: bool = False
    master_cert: str = ""
    """Path of the bundle of authorities; empty: those of the system."""
    master_cert_name: str = ""
    client_cert: str = ""
    client_key: str = ""


class SecuritySettings(msgspec.Struct, frozen=True):
    """The security section."""

    tls: TlsSettings = TlsSettings()


class HookSettings(msgspec.Struct, frozen=True):
    """Commands that the agent runs."""

    on_connection_lost: tuple[str, ...] = ()


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """All options, after files, variables and flags are merged and checked."""

    master_host: str
    master_port: int
    agent_id: str
    resource_pool: str = "default"
    slot_type: SlotType = "auto"
    visible_gpus: str = ""
    artificial_slots: int = 0
    container_master_host: str = ""
    container_master_port: int = 0
    security: SecuritySettings = SecuritySettings()
    hooks: HookSettings = HookSettings()
    join_token: str = ""
    join_token_file: str = ""
    work_dir: str = "/var/lib/determined/agent"
    agent_reconnect_attempts: int | None = None
    """None: for ever."""
    agent_reconnect_backoff: int = 5
    """Seconds between attempts, where their number is bounded."""
    container_runtime: ContainerRuntime = "docker"
    log_spool_bytes: int = GIB
    """Bound of a task's output that is not stored yet."""
    http_proxy: str = ""
    https_proxy: str = ""
    ftp_proxy: str = ""
    no_proxy: str = ""


def load(arguments: Sequence[str], environment: Mapping[str, str]) -> Settings:
    """Read flags, then `DET_*` variables, then a file of JSON. Raises SystemExit."""
    parser = argparse.ArgumentParser(prog="determined-agent")
    parser.add_argument("command", nargs="?", choices=["run"], default="run")
    parser.add_argument("--config-file", default=environment.get("DET_CONFIG_FILE", ""))
    simple = [f for f in Settings.__struct_fields__ if f not in ("security", "hooks")]
    for name in simple:
        default = environment.get(f"DET_{name.upper()}")
        parser.add_argument(f"--{name.replace('_', '-')}", default=default)
    options = parser.parse_args(arguments)
    values: dict[str, Any] = {}
    if options.config_file:
        values = msgspec.json.decode(Path(options.config_file).read_bytes())
    values.update({n: v for n in simple if (v := getattr(options, n)) is not None})
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        parser.error(str(error))
