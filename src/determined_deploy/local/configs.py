"""The config files of a local cluster, built from options and the user's own files."""

from __future__ import annotations

import dataclasses
import json
import os
import pathlib
import secrets
import shutil
import subprocess
from typing import Any, Dict, List, Optional

from determined.cli import errors
from determined.cli.output import plain_yaml
from determined_deploy.local import layout, specs, task_account

LOOPBACK = ("127.0.0.1", "localhost", "::1")


@dataclasses.dataclass(frozen=True)
class MasterOptions:
    """The options of a master on the command line; None if not given."""

    port: Optional[int] = None
    host: Optional[str] = None
    config_path: Optional[str] = None
    storage_path: Optional[str] = None
    work_dir: Optional[str] = None
    account: Optional[task_account.TaskAccount] = None
    """The account of tasks, when root starts the cluster."""


def of_master(cluster: layout.ClusterLayout, options: MasterOptions) -> Dict[str, Any]:
    """The settings of a master. Options win over the user's file, which wins over our defaults.

    Creates the checkpoint directory, unless the file sets its own checkpoint storage.

    Returns:
        The settings, always with `host` and `port`.

    Raises:
        CliError: the user's file is not a mapping, the port is invalid, or the directory cannot
            be created.
    """
    config: Dict[str, Any] = {
        "host": LOOPBACK[0],
        "port": 8080,
        "cluster_name": cluster.cluster,
    }
    stored = _stored_settings(cluster, options)
    if _is_account_new(cluster, options):
        assert options.account is not None
        config["security"] = {"default_task": options.account.setting()}
    own_config = stored
    if options.config_path:
        # Whoever knows the cluster's address still reaches it, and tasks keep their account.
        place: Dict[str, Any] = {name: stored[name] for name in ("host", "port") if name in stored}
        account = _section(stored, "security").get("default_task")
        if account:
            place["security"] = {"default_task": account}
        own_config = merged(place, read(options.config_path))
    if not _section(own_config, "db").get("host"):
        config["db"] = {"data_dir": str(cluster.database)}
    own = _section(own_config, "checkpoint_storage").get("host_path") == str(cluster.checkpoints)
    if own or own_config.get("checkpoint_storage") is None:
        storage = pathlib.Path(options.storage_path or cluster.checkpoints).absolute()
        _make_storage(cluster, storage, options.account)
        config["checkpoint_storage"] = {"type": "shared_fs", "host_path": str(storage)}
    config["security"] = {
        **_section(config, "security"),
        "agent_join_token_file": str(cluster.join_token),
    }
    config = merged(config, own_config)
    flags: Dict[str, Any] = {"host": options.host, "port": options.port}
    config.update({key: value for key, value in flags.items() if value is not None})
    if type(config["port"]) is not int or not 1 <= config["port"] <= 65535:
        raise errors.CliError(f"port {config['port']!r}: it must be a number from 1 to 65535")
    if _section(_section(config, "security"), "tls").get("cert"):
        raise errors.CliError(
            "security.tls: a cluster of 'det deploy local' serves plain HTTP; for HTTPS run "
            "determined-master and determined-agent yourself"
        )
    if options.work_dir:
        config = merged(config, {"task_container_defaults": {"work_dir": options.work_dir}})
    if config["host"] not in LOOPBACK:
        # Agents of `det deploy local` run tasks as processes, whatever address the master uses.
        config = merged({"security": {"allow_process_runtime": True}}, config)
    return config


def _is_account_new(cluster: layout.ClusterLayout, options: MasterOptions) -> bool:
    """Whether the account of tasks is set by this start.

    An existing cluster keeps the account that its files belong to, also root, until an option
    names another.
    """
    account = options.account
    if account is None or not account.uid:
        return False
    return account.is_given or not is_kept(cluster)


def is_kept(cluster: layout.ClusterLayout) -> bool:
    """Whether the cluster has settings of an earlier start, and data that belong to them."""
    return cluster.settings.exists() and (cluster.database / "data").exists()


def _stored_settings(cluster: layout.ClusterLayout, options: MasterOptions) -> Dict[str, Any]:
    """The settings of the last start, without those that options replace."""
    if not cluster.settings.exists():
        return {}
    config = read(str(cluster.settings))
    if options.storage_path:
        config.pop("checkpoint_storage", None)
    if options.account is not None and options.account.is_given:
        security = {**_section(config, "security")}
        security.pop("default_task", None)
        config["security"] = security
    return config


def security_of(config: Dict[str, Any]) -> Dict[str, Any]:
    """The settings that say who may do what.

    The account of tasks has an option of its own, and the file of the join token is ours.
    """
    own = ("default_task", "agent_join_token_file")
    return {k: v for k, v in _section(config, "security").items() if k not in own}


def join_token_file(config: Dict[str, Any]) -> str:
    """The file with the token that agents show to a master with these settings."""
    return str(_section(config, "security").get("agent_join_token_file") or "")


def write_join_token(cluster: layout.ClusterLayout) -> None:
    """Make a new token: what somebody has read of an earlier one is worth nothing."""
    specs.write_private(cluster.join_token, secrets.token_hex(32) + "\n")


def initial_password_of(config: Dict[str, Any]) -> str:
    """The first password in a master's settings; "" for a random one."""
    return str(_section(config, "security").get("initial_user_password") or "")


def account_of(config: Dict[str, Any]) -> str:
    """The account of tasks in a master's settings; empty for root."""
    task = _section(_section(config, "security"), "default_task")
    return str(task.get("user") or "") if task.get("uid") else ""


def write_master(cluster: layout.ClusterLayout, config: Dict[str, Any]) -> None:
    """Write `master.yaml`."""
    specs.write_private(cluster.master_config, plain_yaml.dump(config) + "\n")


@dataclasses.dataclass(frozen=True)
class AgentOptions:
    """The options of an agent; `visible_gpus` None means all GPUs."""

    name: str
    master_host: str
    master_port: int
    slot_type: str = "auto"
    visible_gpus: Optional[str] = None
    pool: Optional[str] = None
    config_path: Optional[str] = None
    join_token_file: str = ""
    """Empty for that of this cluster, if there is one."""


def write_agent(cluster: layout.ClusterLayout, options: AgentOptions) -> Dict[str, Any]:
    """Write the config file of an agent and return its content. The user's file wins.

    Raises:
        CliError: the user's file is not a mapping.
    """
    config: Dict[str, Any] = {
        "master_host": options.master_host,
        "master_port": options.master_port,
        "agent_id": options.name,
        "container_runtime": "process",
        "slot_type": options.slot_type,
        "work_dir": str(cluster.agents),
    }
    own = str(cluster.join_token) if cluster.join_token.exists() else ""
    if options.join_token_file or own:
        config["join_token_file"] = options.join_token_file or own
    if options.visible_gpus is not None:
        config["visible_gpus"] = options.visible_gpus
    if options.pool:
        config["resource_pool"] = options.pool
    own_config = read(options.config_path) if options.config_path else {}
    # JSON is valid YAML, and an agent reads it without loading a YAML library.
    config = merged(config, own_config)
    specs.write_private(cluster.agent_config(options.name), json.dumps(config, indent=2) + "\n")
    return config


def share_gpus(count: int, with_gpus: bool) -> List[AgentOptions]:
    """Divide the GPUs of a machine among `count` agents, so that no GPU has two agents.

    Returns:
        One set of options per agent, in which only `slot_type` and `visible_gpus` are set.
    """
    if not with_gpus:
        return [AgentOptions("", "", 0, "cpu") for _ in range(count)]
    if count == 1:
        return [AgentOptions("", "", 0, "auto")]
    gpus = _gpu_indexes()
    shares = [gpus[number::count] for number in range(count)]
    return [
        AgentOptions("", "", 0, "auto", ",".join(share))
        if share
        else AgentOptions("", "", 0, "cpu")
        for share in shares
    ]


def merged(lower: Dict[str, Any], higher: Dict[str, Any]) -> Dict[str, Any]:
    """Merge two nested mappings. Values of `higher` win, except null, which counts as unset."""
    out = dict(lower)
    for key, value in higher.items():
        if value is None:
            continue  # the same as leaving it out
        both = isinstance(value, dict) and isinstance(out.get(key), dict)
        out[key] = merged(out[key], value) if both else value
    return out


def read(path: str) -> Dict[str, Any]:
    """Read the user's YAML file as plain data.

    Raises:
        CliError: the file is missing, not YAML, or not a mapping.
    """
    from determined.cli.config import config_file  # takes 80 ms, and is rarely needed
    from determined.common import config_text

    text = config_file.read(path)
    try:
        if not text.strip():
            return {}
        config: Dict[str, Any] = config_text.plain(config_text.load(text, path), path)
        return config
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None


def _section(config: Dict[str, Any], key: str) -> Dict[str, Any]:
    """A section, or an empty one for another type, which the master refuses with its path."""
    value = config.get(key)
    return value if isinstance(value, dict) else {}


def _make_storage(
    cluster: layout.ClusterLayout, path: pathlib.Path, account: Optional[task_account.TaskAccount]
) -> None:
    # Any task may write to a checkpoint's directory, so that any task may delete it. Other
    # processes cannot list the parent directory and do not know its name.
    mode = 0o711 if path == cluster.checkpoints else 0o777
    try:
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        if account is not None and account.uid and path == cluster.checkpoints:
            os.chown(path, account.uid, account.gid)
    except OSError as error:
        reason = "it is a file" if path.is_file() else error.strerror
        raise errors.CliError(
            f"the checkpoint directory {path} cannot be created: {reason}; choose a writable "
            "directory with --storage-host-path"
        ) from None


def _gpu_indexes() -> List[str]:
    if shutil.which("nvidia-smi") is None:
        return []
    command = ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    return done.stdout.split() if done.returncode == 0 else []
