"""`det deploy local`: starts clusters, masters and agents on this machine."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
import time
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from determined.cli import arguments, declare, errors
from determined.common.api import authentication
from determined_deploy.local import (
    configs,
    extras,
    kept_agents,
    layout,
    local_context,
    ports,
    ready,
    running_master,
    specs,
    stop,
    supervisor_client,
    task_account,
)

_START_LIMIT_S = 120.0
_AGENT_LIMIT_S = 60.0
_AGENT_ORDER = 10
_IGNORED_OPTIONS = ("det_version", "db_password", "image_repo_prefix", "enterprise_edition")


def cluster_up(args: argparse.Namespace) -> None:
    """Start a master and agents, wait until they are ready, and log the caller in.

    A cluster that is already up is not changed.
    """
    started_s = time.monotonic()
    cluster = _prepare(args, ("master", "agent"))
    agent_options = kept_agents.chosen(cluster, args)
    names = [f"{cluster.cluster}-agent-{number}" for number in range(agent_options.count)]
    with supervisor_client.only_command(cluster):
        if _is_up(cluster, ["master", *names], args):
            return
        config = _configure_master(cluster, args)
        _configure_agents(cluster, config, names, agent_options.with_gpus)
        with _stop_on_failure(cluster):
            before = _start(cluster, args, ["master", *names])
            agents = _finish(cluster, config, names, args, before)
        kept_agents.keep(cluster, agent_options)
    _print_summary(cluster, config, agents, time.monotonic() - started_s)


def master_up(args: argparse.Namespace) -> None:
    """Start a master without agents, wait until it answers, and log the caller in."""
    started_s = time.monotonic()
    cluster = _prepare(args, ("master",))
    with supervisor_client.only_command(cluster):
        if _is_up(cluster, ["master"], args):
            return
        config = _configure_master(cluster, args)
        with _stop_on_failure(cluster):
            before = _start(cluster, args, ["master"])
            _finish(cluster, config, [], args, before)
    _print_summary(cluster, config, [], time.monotonic() - started_s)


def agent_up(args: argparse.Namespace) -> None:
    """Start one agent that joins a master, which may be on another machine."""
    cluster = _prepare(args, ("agent",))
    name = args.agent_name
    layout.check_name("agent name", name)
    with supervisor_client.only_command(cluster):
        status = specs.list_status(cluster.status).get(name)
        if status is not None and status.process is not None:
            print(f"agent '{name}' is already running")
            return
        options = configs.AgentOptions(
            name=name,
            master_host=args.master_host,
            master_port=args.master_port,
            slot_type="auto" if args.gpu else "cpu",
            pool=args.agent_resource_pool,
            config_path=args.agent_config_path,
        )
        config = configs.write_agent(cluster, options)
        supervisor_client.apply(cluster, [_agent_spec(cluster, name, args)])
    print(f"agent '{name}' is running; its log is {cluster.log(name)}")
    if not ports.answers(config["master_host"], config["master_port"]):
        where = f"{config['master_host']}:{config['master_port']}"
        print(f"  no master answers at {where} yet: the agent keeps trying")


@contextlib.contextmanager
def _stop_on_failure(cluster: layout.ClusterLayout) -> Iterator[None]:
    """Stop all processes again if one ends while it starts, or on an interrupt.

    Leaves a cluster alone that was up before.
    """
    was_up = running_master.is_up(cluster)
    try:
        yield
    except (ready.ProcessEndedError, KeyboardInterrupt) as error:
        if not was_up:
            if isinstance(error, KeyboardInterrupt):
                declare.warn("interrupted: stopping the started processes")
            stop.stop_all(cluster, say=_silent)
        raise


def _prepare(args: argparse.Namespace, roles: Sequence[str]) -> layout.ClusterLayout:
    extras.check(roles)
    if getattr(args, "initial_user_password", None) == "":
        raise errors.CliError(
            "--initial-user-password is blank: give one, or omit the option for a random one"
        )
    for name in _IGNORED_OPTIONS:
        value = getattr(args, name, None)
        if value and value not in ("postgres", "determinedai"):
            declare.warn(f"--{name.replace('_', '-')} has no effect: the installed version runs")
    cluster = layout.cluster_layout(args.cluster_name)
    cluster.create()
    return cluster


def _is_up(cluster: layout.ClusterLayout, names: Sequence[str], args: argparse.Namespace) -> bool:
    """Whether all of these processes run already. Prints so, and warns of ignored options.

    Raises:
        CliError: the cluster runs at another port than the given one.
    """
    if not running_master.is_up(cluster):
        return False
    address = cluster.address.read_text()
    if args.master_port is not None and not address.endswith(f":{args.master_port}"):
        raise errors.CliError(
            f"cluster '{cluster.cluster}' is already up at {address}; stop it first, or choose "
            "another name with --cluster-name"
        )
    running_master.warn_of_ignored(cluster, args)
    by_name = specs.list_status(cluster.status)
    if any(name not in by_name or by_name[name].process is None for name in names):
        return False
    if supervisor_client.find_supervisor(cluster) is None:
        return False
    print(f"cluster '{cluster.cluster}' is already up at {address}")
    local_context.enter(cluster)
    return True


def _configure_master(cluster: layout.ClusterLayout, args: argparse.Namespace) -> Dict[str, Any]:
    """The settings of the running master, or the settings of a new one, written to its file."""
    if running_master.is_up(cluster):
        return configs.read(str(cluster.master_config))
    _ask_about_security(cluster, args)
    options = running_master.options_of(args)
    config = configs.of_master(cluster, options)
    if options.account is not None:
        _warn_of_account(config, options.account)
    ports.check_free(config["host"], config["port"], "--master-port")
    configs.write_master(cluster, config)
    if args.delete_db:
        stop.stop_database(cluster)
        stop.delete_database(cluster)
    configs.write_join_token(cluster)
    if args.initial_user_password and (cluster.database / "data").exists():
        declare.warn("--initial-user-password applies to a new database only: no password changes")
    host = ready.reachable(config["host"])
    origin = f"[{host}]" if ":" in host else host
    specs.write_private(cluster.address, f"http://{origin}:{config['port']}")
    return config


def _warn_of_account(config: Dict[str, Any], account: task_account.TaskAccount) -> None:
    """Say that tasks may read everything, or that they will fail."""
    name = configs.account_of(config)
    if not name:
        declare.warn(
            "tasks run as root and may read all files, unless a user has an agent user: "
            "--task-account NAME names another account"
        )
    elif name == account.name and account.problem:
        declare.warn(f"tasks will fail: {account.problem}; or give --task-account root")


def _ask_about_security(cluster: layout.ClusterLayout, args: argparse.Namespace) -> None:
    """Ask before another file changes who may do what in an existing cluster.

    Raises:
        CliError: the answer is not yes.
    """
    if not args.master_config_path or not configs.is_kept(cluster):
        return
    before = configs.security_of(configs.read(str(cluster.settings)))
    after = configs.security_of(configs.read(args.master_config_path))
    changed = [
        f"security.{key}: {_text_of(before.get(key))} becomes {_text_of(after.get(key))}"
        for key in sorted(before.keys() | after.keys())
        if before.get(key) != after.get(key)
    ]
    if changed:
        lines = "\n".join(f"  {line}" for line in changed)
        print(f"{args.master_config_path} changes the security of the cluster:\n{lines}")
        arguments.confirm(args, "Start with these settings?")


def _text_of(value: Any) -> str:
    """A setting on one line, as a file has it."""
    return "unset" if value is None else json.dumps(value)


def _configure_agents(
    cluster: layout.ClusterLayout, config: Dict[str, Any], names: Sequence[str], with_gpus: bool
) -> None:
    for name, share in zip(names, configs.share_gpus(len(names), with_gpus)):
        host, port = ready.reachable(config["host"]), int(config["port"])
        options = dataclasses.replace(
            share,
            name=name,
            master_host=host,
            master_port=port,
            join_token_file=configs.join_token_file(config),
        )
        configs.write_agent(cluster, options)


def _start(
    cluster: layout.ClusterLayout, args: argparse.Namespace, names: Sequence[str]
) -> ready.LogSizes:
    before = ready.log_sizes(cluster, names)
    by_name = specs.list_status(cluster.status)
    for name in names:
        if name in by_name and by_name[name].process is None:
            specs.delete_status(cluster.status, name)  # of an earlier start
    started = [
        _master_spec(cluster, args) if name == "master" else _agent_spec(cluster, name, args)
        for name in names
    ]
    supervisor_client.apply(cluster, started)
    return before


def _finish(
    cluster: layout.ClusterLayout,
    config: Dict[str, Any],
    names: Sequence[str],
    args: argparse.Namespace,
    before: ready.LogSizes,
) -> List[Dict[str, Any]]:
    address = cluster.address.read_text()
    password = args.initial_user_password or configs.initial_password_of(config)
    ready.wait_master(cluster, address, _START_LIMIT_S, before)
    with ready.sign_in(cluster, address, ready.USER, password) as session:
        agents = ready.wait_agents(cluster, session, names, _AGENT_LIMIT_S, before)
    ready.sign_in_admin(cluster, address, password)
    specs.write_private(cluster.settings, cluster.master_config.read_text())
    if args.initial_user_password:
        # Only the first start needs it, so no file keeps it.
        specs.write_spec(cluster.specs, _master_spec(cluster, args, password=""))
    return agents


def _master_spec(
    cluster: layout.ClusterLayout, args: argparse.Namespace, password: Any = None
) -> specs.ProcessSpec:
    first = args.initial_user_password if password is None else password
    return specs.ProcessSpec(
        name="master",
        argv=_command("determined_master.main", str(cluster.master_config)),
        log=str(cluster.log("master")),
        env={"DET_SECURITY_INITIAL_USER_PASSWORD": first} if first else {},
        autorestart=not args.no_autorestart,
        stop_grace_s=30.0,
    )


def _agent_spec(
    cluster: layout.ClusterLayout, name: str, args: argparse.Namespace
) -> specs.ProcessSpec:
    return specs.ProcessSpec(
        name=name,
        argv=_command("determined_agent.main", str(cluster.agent_config(name))),
        log=str(cluster.log(name)),
        order=_AGENT_ORDER,
        autorestart=not args.no_autorestart,
    )


def _command(module: str, config: str) -> List[str]:
    return [sys.executable, "-m", module, "--config-file", config]


def _print_summary(
    cluster: layout.ClusterLayout,
    config: Dict[str, Any],
    agents: Sequence[Dict[str, Any]],
    took_s: float,
) -> None:
    name = "" if cluster.cluster == "determined" else f" --cluster-name {cluster.cluster}"
    address = cluster.address.read_text()
    slots = sum(len(agent["slots"]) for agent in agents)
    there = f"{len(agents)} with {slots} slot{'' if slots == 1 else 's'}"
    lines: List[Tuple[str, str]] = [
        ("agents", there if agents else "none: experiments wait until an agent joins"),
        ("logs", f"det deploy local logs{name}"),
        ("stop", f"det deploy local cluster-down{name}"),
        ("data", str(cluster.root)),
    ]
    account = configs.account_of(config)
    if account:
        lines.insert(1, ("tasks", f"run as {account}, unless a user has an agent user"))
    other = local_context.enter(cluster)
    if other not in (None, address):
        use = f"unset DET_MASTER: it is {other}, and commands use it instead of this cluster"
        lines.insert(0, ("use it", use))
    for path in cluster.initial_passwords:
        if path.exists():
            lines.append(("password", f"of users admin and determined: in {path}"))
    print(f"cluster '{cluster.cluster}' is up at {address} ({took_s:.1f} s)")
    user = authentication.TokenStore(address).active_user
    if user is not None:
        print(f"  logged in as {user}")
    for label, text in lines:
        print(f"  {label:<9} {text}")


def _silent(text: str) -> None:
    pass
