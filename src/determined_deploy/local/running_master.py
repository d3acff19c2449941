"""Warns of options that have no effect because the master already runs."""

from __future__ import annotations

import argparse
import dataclasses
import pathlib
from typing import Any, Dict

from determined.cli import declare
from determined_deploy.local import configs, layout, specs, task_account

_SETTINGS_OPTIONS = (
    "master_config_path",
    "storage_host_path",
    "initial_user_password",
    "listen",
    "delete_db",
    "auto_work_dir",
    "task_account",
)


def is_up(cluster: layout.ClusterLayout) -> bool:
    """Whether the master's process lives."""
    master = specs.list_status(cluster.status).get("master")
    return master is not None and master.process is not None


def options_of(args: argparse.Namespace) -> configs.MasterOptions:
    """The options of a master on the command line."""
    return configs.MasterOptions(
        port=args.master_port,
        host=args.listen,
        config_path=args.master_config_path,
        storage_path=args.storage_host_path,
        work_dir=args.auto_work_dir,
        account=task_account.choose(args.task_account),
    )


def warn_of_ignored(cluster: layout.ClusterLayout, args: argparse.Namespace) -> None:
    """Warn of the options that have no effect on a running master.

    Options that match its current settings are not named.
    """
    names = [name for name in _SETTINGS_OPTIONS if getattr(args, name)]
    if not names:
        return
    current = configs.read(str(cluster.master_config))
    ignored = [name for name in names if not _holds(name, args, cluster, current)]
    if ignored:
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in ignored)
        declare.warn(
            f"the master of cluster '{cluster.cluster}' is already running, so {flags} had no "
            "effect; stop it first with 'det deploy local cluster-down"
            + ("'" if cluster.cluster == "determined" else f" --cluster-name {cluster.cluster}'")
        )


def _holds(
    name: str, args: argparse.Namespace, cluster: layout.ClusterLayout, current: Dict[str, Any]
) -> bool:
    value = getattr(args, name)
    if name == "listen":
        return bool(current["host"] == value)
    if name == "storage_host_path":
        storage = current.get("checkpoint_storage") or {}
        return bool(storage.get("host_path") == str(pathlib.Path(value).absolute()))
    if name == "auto_work_dir":
        return bool((current.get("task_container_defaults") or {}).get("work_dir") == value)
    if name == "task_account":
        return bool((configs.account_of(current) or "root") == value)
    if name == "master_config_path":
        options = dataclasses.replace(options_of(args), host=current["host"], port=current["port"])
        return configs.of_master(cluster, options) == current
    return False
