"""`det deploy local`: stops clusters, masters and agents, even without their supervisor."""

from __future__ import annotations

import argparse
import contextlib
import pathlib
import shutil
import signal
from typing import Callable, ContextManager, List, Optional, Sequence

from determined.cli import errors
from determined_deploy.local import (
    layout,
    leave,
    local_context,
    processes,
    ready,
    specs,
    supervisor_client,
)

Say = Callable[[str], None]
_TASK_GRACE_S = 5.0
_DATABASE_GRACE_S = 30.0
_KILL_TASK = getattr(signal, "SIGRTMIN", signal.SIGKILL)
"""The signal on which the shim of a task kills all processes below it."""


def cluster_down(args: argparse.Namespace) -> None:
    """Stop agents, tasks, master and database, in this order."""
    cluster = layout.cluster_layout(args.cluster_name)
    if not cluster.root.exists():
        print(cluster.missing())
        return
    with supervisor_client.only_command(cluster):
        stopped = stop_all(cluster, say=_print, keeps_tasks=args.keep_tasks, saves=True)
        if args.delete_db:
            delete_database(cluster)
    local_context.leave(cluster)
    if stopped:
        print(f"cluster '{cluster.cluster}' is down")
    elif not args.delete_db:
        print(f"cluster '{cluster.cluster}' is not running")


def master_down(args: argparse.Namespace) -> None:
    """Stop the master and its database. Agents keep running and wait for the master."""
    cluster = layout.cluster_layout(args.cluster_name)
    if not cluster.root.exists():
        print(cluster.missing())
        return
    with supervisor_client.only_command(cluster):
        withdrawn = supervisor_client.withdraw(cluster, ["master"])
        withdrawn |= {"database"} if stop_database(cluster) else set()
        if args.delete_db:
            delete_database(cluster)
    print(
        "master stopped" if withdrawn else f"no master of cluster '{cluster.cluster}' is running"
    )


def agent_down(args: argparse.Namespace) -> None:
    """Stop one agent and its tasks; with `--all`, every agent of the cluster.

    Raises:
        CliError: the cluster has no such agent.
    """
    cluster = layout.cluster_layout(args.cluster_name)
    names = [name for name in _names(cluster) if name != "master"]
    if not cluster.root.exists():
        raise errors.CliError(cluster.missing())
    if not args.all:
        if args.agent_name not in names:
            there = ", ".join(names) or "none"
            raise errors.CliError(
                f"no agent '{args.agent_name}' in cluster '{cluster.cluster}' (it has: {there}); "
                "name one with --agent-name, or give --all"
            )
        names = [args.agent_name]
    if not names:
        print(f"no agent of cluster '{cluster.cluster}' is running")
        return
    stopping = _emptied(cluster, names, _print, is_wanted="master" in _names(cluster))
    with supervisor_client.only_command(cluster), stopping:
        supervisor_client.withdraw(cluster, names)
        for name in names:
            end_tasks(cluster.agents / name)
            print(f"agent '{name}' stopped")


def stop_all(
    cluster: layout.ClusterLayout, say: Say, *, keeps_tasks: bool = False, saves: bool = False
) -> bool:
    """Stop all processes of a cluster. True if any process ran.

    Stops the agents first: then no task is reported as failed, and the next start continues the
    trials from their checkpoints.

    Args:
        cluster: which one.
        say: called with each step.
        keeps_tasks: whether tasks keep running, to be taken over at the next start.
        saves: whether trials are asked first to save their work.
    """
    supervisor = supervisor_client.find_supervisor(cluster)
    names = _names(cluster)
    agents = [name for name in names if name != "master"]
    running = supervisor is not None or any(
        status.process is not None for status in specs.list_status(cluster.status).values()
    )
    tasks = 0
    is_wanted = saves and not keeps_tasks and bool(agents) and "master" in names
    with _emptied(cluster, agents, say, is_wanted=is_wanted):
        if agents:
            say(f"stopping {', '.join(agents)}")
            supervisor_client.withdraw(cluster, agents)
        if not keeps_tasks:
            tasks = end_tasks(cluster.agents)
    if tasks:
        say(f"stopped {tasks} task{'' if tasks == 1 else 's'}")
    if "master" in names:
        say("stopping master")
        supervisor_client.withdraw(cluster, ["master"])
    if stop_database(cluster):
        say("stopped the database, which had outlived its master")
        running = True
    if supervisor is not None:
        processes.end([supervisor], grace_s=10.0)
    return running or bool(tasks)


def _emptied(
    cluster: layout.ClusterLayout, agents: Sequence[str], say: Say, *, is_wanted: bool
) -> ContextManager[None]:
    return leave.emptied(cluster, agents, say) if is_wanted else contextlib.nullcontext()


def end_tasks(folder: pathlib.Path) -> int:
    """End the tasks with directories below `folder`, and return their number.

    The shim of a task has the task's directory on its command line. The first signal asks the
    shim to end the task, the second to kill it. Finally all remaining processes are killed.
    """
    parents = [
        p
        for p in processes.find_by_command_line(f"{folder}/")
        if "shim" in processes.command_of(p.pid)
    ]
    below = processes.descendants(parents)
    for number, grace_s in ((signal.SIGTERM, _TASK_GRACE_S), (_KILL_TASK, _TASK_GRACE_S)):
        for process in parents:
            processes.send(process, number)
        if not processes.wait_gone(parents, grace_s):
            break
    processes.end([*parents, *below], grace_s=0.0)
    return len(parents)


def stop_database(cluster: layout.ClusterLayout) -> bool:
    """Stop a PostgreSQL that outlived the master of this cluster. False if none runs."""
    server = _find_database(cluster)
    if server is None:
        return False
    processes.send(server, signal.SIGINT)  # fast shutdown: ends sessions, loses no data
    if processes.wait_gone([server], _DATABASE_GRACE_S):
        processes.send(server, signal.SIGQUIT)
        processes.wait_gone([server], 5.0)
    processes.end([server], grace_s=0.0)
    return True


def _find_database(cluster: layout.ClusterLayout) -> Optional[processes.ProcessIdentity]:
    """The server by its pid file, if that process is a PostgreSQL on this directory."""
    for folder in (cluster.database / "data", cluster.database):
        try:
            lines = (folder / "postmaster.pid").read_text().splitlines()
        except OSError:
            continue
        if len(lines) < 2 or not lines[0].isdigit() or pathlib.Path(lines[1]) != folder:
            continue
        server = processes.identify(int(lines[0]))
        if server is not None and "postgres" in processes.command_of(server.pid):
            return server
    return None


def _names(cluster: layout.ClusterLayout) -> List[str]:
    declared = {spec.name for spec in specs.list_specs(cluster.specs)}
    return sorted(declared | set(specs.list_status(cluster.status)))


def delete_database(cluster: layout.ClusterLayout) -> None:
    """Delete the database with the passwords and logins that belong to it."""
    shutil.rmtree(cluster.database, ignore_errors=True)
    for path in (*cluster.initial_passwords, cluster.join_token):
        path.unlink(missing_ok=True)
    if cluster.address.exists():
        for store in ready.stores_of(cluster.address.read_text()):
            for username in store.users():
                store.drop_user(username)
    print(f"deleted the database of cluster '{cluster.cluster}'; checkpoints are kept")


def _print(text: str) -> None:
    print(text, flush=True)
