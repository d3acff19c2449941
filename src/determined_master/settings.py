"""Settings of the master: from master.yaml, DET_* variables and flags, strongest last."""

from __future__ import annotations

import argparse
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError


class SettingsError(Exception):
    """The settings cannot be used; the text lists every error with its path."""


class Database(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where PostgreSQL is; without a host the master runs its own."""

    user: str = ""
    password: str = ""
    host: str = ""
    port: int = 5432
    name: str = ""
    ssl_mode: str = "disable"
    ssl_root_cert: str = ""
    data_dir: str = ""


class TaskUser(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Whom tasks run as when their owner has no link to a system user."""

    user: str = "root"
    uid: int = 0
    group: str = "root"
    gid: int = 0


class Security(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may come in."""

    initial_user_password: str = ""
    default_task: TaskUser = TaskUser()
    agent_join: str = ""
    allow_process_runtime: bool = False


class Log(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The master's own log."""

    level: str = "info"
    color: bool = True


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All settings."""

    host: str = "0.0.0.0"
    port: int = 8080
    cluster_name: str = ""
    db: Database = Database()
    security: Security = Security()
    log: Log = Log()
    checkpoint_storage: dict[str, Any] | None = None
    task_container_defaults: dict[str, Any] = {}
    agent_reconnect_wait_s: float = 25.0
    command: str = "run"
    directory: str = ""

    @property
    def is_loopback(self) -> bool:
        """Whether nobody outside this machine can reach the master."""
        return self.host in ("127.0.0.1", "localhost", "::1")

    def masked(self) -> dict[str, Any]:
        """All settings, without command and directory; secrets are masked elsewhere."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return {k: v for k, v in built.items() if k not in ("command", "directory")}


OPTIONS: tuple[tuple[str, ...], ...] = (
    ("host",),
    ("port",),
    ("cluster_name",),
    ("db", "user"),
    ("db", "password"),
    ("db", "host"),
    ("db", "port"),
    ("db", "name"),
    ("db", "ssl_mode"),
    ("db", "ssl_root_cert"),
    ("db", "data_dir"),
    ("security", "initial_user_password"),
    ("security", "agent_join"),
    ("security", "allow_process_runtime"),
    ("log", "level"),
)
"""Options that have a flag and a variable."""


def load(argv: Sequence[str], env: Mapping[str, str]) -> Settings:
    """Read all sources.

    Raises:
        SettingsError: a source cannot be read, or a value makes no sense.
    """
    arguments = _parser().parse_args(argv)
    path = arguments.config_file or env.get("DET_CONFIG_FILE") or ""
    merged = _read(path) if path else {}
    for option in OPTIONS:
        variable = "DET_" + "_".join(option).upper()
        if env.get(variable):
            _put(merged, option, env[variable])
        given = getattr(arguments, "_".join(option))
        if given is not None:
            _put(merged, option, given)
    merged["command"] = arguments.command or "run"
    merged["directory"] = getattr(arguments, "directory", "") or ""
    try:
        return msgspec.convert(merged, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SettingsError(f"Check Failed! 1 errors found:\n\t{error}") from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="determined-master", description=__doc__)
    parser.add_argument("--config-file", help="default: none; or DET_CONFIG_FILE")
    for option in OPTIONS:
        parser.add_argument("--" + "-".join(option).replace("_", "-"), dest="_".join(option))
    commands = parser.add_subparsers(dest="command")
    commands.add_parser("run", help="run the master (the default)")
    for name in ("backup", "restore"):
        command = commands.add_parser(name, help=f"{name} the database")
        command.add_argument("directory")
    return parser


def _read(path: str) -> dict[str, Any]:
    try:
        text = Path(path).read_text()
        value = YAML(typ="safe", pure=True).load(text)
    except OSError as error:
        raise SettingsError(f"{path}: {os.strerror(error.errno or 0)}") from None
    except YAMLError as error:
        raise SettingsError(f"{path}: {error}") from None
    if value is not None and not isinstance(value, dict):
        raise SettingsError(f"{path}: the top level must be a mapping of options")
    return value or {}


def _put(target: dict[str, Any], option: tuple[str, ...], value: Any) -> None:
    for part in option[:-1]:
        target = target.setdefault(part, {})
    target[option[-1]] = value
