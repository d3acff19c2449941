"""Waits until a started cluster is ready, and logs the caller in."""

from __future__ import annotations

import contextlib
import time
from typing import Any, Dict, List, Mapping, Optional, Sequence

from determined.cli import errors
from determined.common.api import RetryPolicy, Session, UnauthSession, authentication
from determined.common.api import errors as api_errors
from determined_deploy.local import layout, specs

USER = "determined"
ADMIN = "admin"
_PAUSE_S = 0.02
_SLOTS_LIMIT_S = 10.0
"""An agent may be configured to have no slots."""
_ANSWER_S = 3.0
_LOG_LINES = 15
_NO_RETRIES = RetryPolicy(total=0)


class ProcessEndedError(errors.CliError):
    """A process of the cluster ended before it was ready."""


LogSizes = Mapping[str, int]
"""The sizes of the logs, by name of process, at the start of these processes."""


def log_sizes(cluster: layout.ClusterLayout, names: Sequence[str]) -> LogSizes:
    """The current sizes of the logs of processes."""
    logs = ((name, cluster.log(name)) for name in names)
    return {name: log.stat().st_size for name, log in logs if log.exists()}


def wait_master(
    cluster: layout.ClusterLayout, address: str, limit_s: float, before: LogSizes
) -> None:
    """Wait until the master answers.

    Args:
        before: the sizes of the logs before its start.

    Raises:
        ProcessEndedError: it ended first; the text has the end of its log.
        CliError: it took longer than `limit_s` seconds.
    """
    deadline = time.monotonic() + limit_s
    while not _answers(address):
        check_alive(cluster, ["master"], before)
        if time.monotonic() > deadline:
            raise errors.CliError(
                f"the master does not answer at {address} after {limit_s:.0f} s; "
                f"its log is {cluster.log('master')}. It is still starting: see the log, or stop "
                "it with 'det deploy local cluster-down' and start again"
            )
        time.sleep(_PAUSE_S)


def sign_in(cluster: layout.ClusterLayout, address: str, username: str, password: str) -> Session:
    """A session of a user: by a stored token, or else by password.

    Args:
        password: from the command line; "" selects the initial password of the cluster.

    Raises:
        CliError: neither a token nor the password is valid; the text says how to log in.
    """
    stores = stores_of(address)
    store = stores[0]
    token = store.token_of(username)
    if token is not None:
        session = Session(address, username, token, max_retries=_NO_RETRIES)
        try:
            session.get("/api/v1/me", timeout=60.0)
        except api_errors.UnauthenticatedException:
            session.close()
        else:
            for each in stores:
                if each.active_user is None:
                    each.set_token(username, token)
            return session
    secret = password or initial_password(cluster)
    try:
        options = authentication.Options(max_retries=_NO_RETRIES)
        session = authentication.login(address, username, secret, options)
    except api_errors.UnauthenticatedException:
        raise errors.CliError(
            f"the initial password of '{username}' has been changed; the cluster is running, log "
            f"in with: det -m {address} user login {username}"
        ) from None
    for each in stores:
        each.set_token(username, session.token, is_active=username == USER)
    return session


def stores_of(address: str) -> List[authentication.TokenStore]:
    """The stores for tokens of a cluster at `address`, starting with that address.

    The default master of commands is `localhost`, a different key in the file than 127.0.0.1.
    Without both, `det experiment list` right after `cluster-up` finds no login.
    """
    names = [address]
    if address.startswith("http://127.0.0.1:"):
        names.append(address.replace("127.0.0.1", "localhost", 1))
    return [authentication.TokenStore(name) for name in names]


def sign_in_admin(cluster: layout.ClusterLayout, address: str, password: str) -> None:
    """Log the creator of the cluster in as its admin (`det -u admin …`) as well, if possible."""
    if authentication.TokenStore(address).token_of(ADMIN) is None:
        with contextlib.suppress(errors.CliError):
            sign_in(cluster, address, ADMIN, password).close()


def initial_password(cluster: layout.ClusterLayout) -> str:
    """The random initial password of the cluster; "" if there is none."""
    for path in cluster.initial_passwords:
        try:
            return path.read_text().strip()
        except OSError:
            continue
    return ""


def wait_agents(
    cluster: layout.ClusterLayout,
    session: Session,
    names: Sequence[str],
    limit_s: float,
    before: LogSizes,
) -> List[Dict[str, Any]]:
    """Wait until the agents are connected, and return them.

    Raises:
        ProcessEndedError: the master or an agent ended first.
        CliError: it took longer than `limit_s` seconds.
    """
    deadline = time.monotonic() + limit_s
    slots_deadline = time.monotonic() + _SLOTS_LIMIT_S
    while True:
        agents = session.get("/api/v1/agents").json()["agents"]
        present = [agent for agent in agents if agent["id"] in names]
        # An agent of the last start is listed without slots until it has joined again.
        has_slots = all(agent.get("slots") for agent in present)
        if len(present) == len(names) and (has_slots or time.monotonic() > slots_deadline):
            return present
        check_alive(cluster, ["master", *names], before)
        if time.monotonic() > deadline:
            missing = sorted(set(names) - {agent["id"] for agent in present})
            logs = ", ".join(str(cluster.log(name)) for name in missing)
            agents = f"agent{'' if len(missing) == 1 else 's'} {', '.join(missing)}"
            raise errors.CliError(f"{agents} did not join within {limit_s:.0f} s; see {logs}")
        time.sleep(_PAUSE_S)


def check_alive(cluster: layout.ClusterLayout, names: Sequence[str], before: LogSizes) -> None:
    """Raise `ProcessEndedError` if a process has ended since its start."""
    by_name = specs.list_status(cluster.status)
    for name in names:
        status = by_name.get(name)
        if status is None or (status.state == "running" and status.restarts == 0):
            continue
        raise ProcessEndedError(
            f"{name} ended with exit code {status.exit_code} while it started. The end of "
            f"{cluster.log(name)}:\n{log_end(cluster, name, before.get(name, 0))}"
        )


def log_end(cluster: layout.ClusterLayout, name: str, start: int) -> str:
    """The last lines of a process's log after byte `start`."""
    try:
        log = cluster.log(name).read_bytes()
    except OSError:
        return ""
    lines = log[start if start <= len(log) else 0 :].decode(errors="replace").splitlines()
    return "\n".join(f"  {line}" for line in lines[-_LOG_LINES:])


def _answers(address: str) -> bool:
    """Whether the master answers requests; it accepts connections earlier."""
    try:
        with UnauthSession(address, max_retries=_NO_RETRIES) as session:
            session.get("/info", timeout=_ANSWER_S)
    except api_errors.MasterNotFoundException:
        return False
    return True


def reachable(host: str) -> str:
    """The host by which this machine connects to a master that listens on `host`."""
    everywhere: Optional[str] = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}.get(host)
    return everywhere or host
