"""A shell task: an ssh server whose sessions get the task's environment.

Source: task-contract 3.9, 7.5.
"""

from __future__ import annotations

import os
import pwd
import threading
import time
from typing import Dict, List, Mapping

from determined._constants import RUN_DIR, run_dir
from determined.common.api._session import BaseSession
from determined.exec._log import EntryFailed, log
from determined.exec._servers import terminals
from determined.exec._servers.programs import find_server
from determined.exec._servers.server_process import report_ready, serve
from determined.util import check_sshd

INSTALL = (
    "install OpenSSH's server in the image, or in a startup-hook.sh that runs as root "
    "(Debian, Ubuntu: apt-get update && apt-get install -y openssh-server; Red Hat: "
    "dnf install -y openssh-server)"
)
LISTEN_S = 60.0
PRIVILEGE_DIR = "/run/sshd"
"""A directory that a server run by root requires; normally the init system creates it."""
PROFILE_DIR = "/etc/profile.d"
_KEPT = ("_", "HOME", "TERM", "LANG", "PWD", "OLDPWD", "SHLVL")
"""Variables that each session sets itself."""
_SFTP = "/usr/lib/openssh/sftp-server"


def run(session: BaseSession, env: Mapping[str, str], arguments: List[str]) -> int:
    """Serve until the task ends; return the server's exit code.

    Args:
        session: the task's session.
        env: the task's environment, which sessions get.
        arguments: the port to listen on.

    Raises:
        EntryFailed: there is no ssh server, or it would refuse every login.
    """
    port = _port(arguments)
    server = find_server("sshd", env, INSTALL)
    check_account()
    config = prepare(env)
    command = [server, "-f", config, "-p", str(port), "-D", "-e"]

    def wait_for_greeting(ended: threading.Event) -> None:
        try:
            check_sshd("127.0.0.1", time.time() + LISTEN_S, port)
        except ValueError as error:
            if ended.is_set():
                return
            raise EntryFailed(f"the ssh server did not start: {error}") from None
        if not ended.is_set():
            log(f"the ssh server listens on port {port}")
            report_ready(session, env)

    return serve(command, env, wait_for_greeting).log_unexpected("the ssh server")


def prepare(env: Mapping[str, str]) -> str:
    """Write the server's files; return the path of its configuration.

    Raises:
        EntryFailed: the files of the master are missing.
    """
    folder = os.path.join(run_dir(), "ssh")
    try:
        keys = _read(os.path.join(folder, "authorized_keys_unmodified"))
        config = _read(os.path.join(folder, "sshd_config"))
    except OSError as error:
        raise EntryFailed(f"the files of this shell are missing: {error}") from error
    _write(os.path.join(folder, "authorized_keys"), authorized_keys(keys, env), 0o600)
    path, banner = os.path.join(folder, "sshd_config"), os.path.join(folder, "banner")
    _write(path, with_terminals(placed(config), banner), 0o644)
    if os.getuid() == 0:
        os.makedirs(PRIVILEGE_DIR, 0o755, exist_ok=True)
        if run_dir() == RUN_DIR:  # in a container
            _keep_path()
    return path


def authorized_keys(keys: str, env: Mapping[str, str]) -> str:
    """The keys, each with options that set this environment in its sessions.

    A newline in a value becomes `\\n`. Variables that ssh cannot represent are dropped: names that
    are not valid in a shell, and values that end in a backslash.
    """
    options = ",".join(
        f'environment="{_escaped(n, v)}"' for n, v in session_variables(env).items()
    )
    lines = [line for line in keys.splitlines() if line.strip() and not line.startswith("#")]
    return "".join(f"{options} {line}\n" if options else f"{line}\n" for line in lines)


def session_variables(env: Mapping[str, str]) -> Dict[str, str]:
    """The variables that sessions get. `DET_PATH` keeps PATH, which profiles may overwrite."""
    return {
        name: value
        for name, value in {**env, "DET_PATH": env.get("PATH", os.defpath)}.items()
        if name not in _KEPT
        and not name.startswith("LC_")
        and name.replace("_", "a").isalnum()
        and name.isascii()
        and not value.endswith("\\")
    }


def placed(config: str) -> str:
    """The server's configuration, adapted to this machine."""
    config = config.replace(RUN_DIR, run_dir())
    if not os.path.exists(_SFTP):
        config = config.replace(_SFTP, "internal-sftp")
    if run_dir() != RUN_DIR:
        # Only the agent and this user can enter the files' directory, but StrictModes also
        # checks its parents, which can be any directory (such as /tmp).
        config = config.replace("StrictModes yes", "StrictModes no")
    return config


def with_terminals(config: str, banner: str) -> str:
    """The server's configuration. It refuses terminals if allocating one would end the session.

    Args:
        config: the configuration with terminals.
        banner: the path of a file whose text is shown at login.
    """
    if terminals.are_given():
        return config
    text = (
        f"user {pwd.getpwuid(os.getuid()).pw_name} gets no terminals on this machine: log in "
        f"without one (ssh -T), add the user to the group {terminals.GROUP!r}, or mount /dev/pts "
        "with this group (gid=5)"
    )
    log(text, "WARNING")
    _write(banner, f"{text}\n", 0o644)
    return f"PermitTTY no\nBanner {banner}\n{config}"


def check_account() -> None:
    """Check that the task's user has an account that can log in. Raises EntryFailed."""
    uid = os.getuid()
    try:
        found = pwd.getpwuid(uid)
    except KeyError:
        raise EntryFailed(
            f"this image has no user with id {uid}, and an ssh server requires one: add it "
            f"to the image (useradd -u {uid} NAME), or run the shell as an existing user"
        ) from None
    if uid == 0 and _is_locked(found.pw_name):
        raise EntryFailed(
            f"the user {found.pw_name} is locked in this image's /etc/shadow, and an ssh server "
            "refuses locked users: run `usermod -p '*' root` in the image or in a "
            "startup-hook.sh"
        )
    wanted = _wanted_name()
    if wanted and wanted != found.pw_name and not _has_uid(wanted, uid):
        log(
            f"user {uid} of this image is {found.pw_name!r}, not {wanted!r}: log in "
            f"as that user (ssh -l {found.pw_name}), or add a user {wanted!r} with id {uid} "
            "to the image",
            "WARNING",
        )


def _port(arguments: List[str]) -> int:
    if len(arguments) != 1 or not arguments[0].isdigit():
        raise EntryFailed(
            f"a shell task takes one argument, the port to listen on; got {arguments}", 2
        )
    return int(arguments[0])


def _escaped(name: str, value: str) -> str:
    text = value.replace("\n", "\\n").replace('"', '\\"')
    return f"{name}={text}"


def _is_locked(name: str) -> bool:
    try:
        lines = _read("/etc/shadow").splitlines()
    except OSError:
        return False
    return any(line.split(":")[:1] == [name] and line.split(":")[1][:1] == "!" for line in lines)


def _wanted_name() -> str:
    """The name of the task's user in the cluster; empty if not known."""
    try:
        return _read(os.path.join(run_dir(), "etc", "passwd")).partition(":")[0]
    except OSError:
        return ""


def _has_uid(name: str, uid: int) -> bool:
    try:
        return pwd.getpwnam(name).pw_uid == uid
    except KeyError:
        return False


def _keep_path() -> None:
    """Restore PATH in login shells, whose profiles would overwrite that of image and task."""
    if os.path.isdir(PROFILE_DIR):
        script = 'if [ -n "$DET_PATH" ]; then export PATH="$DET_PATH"; fi\n'
        _write(os.path.join(PROFILE_DIR, "determined.sh"), script, 0o644)


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.read()


def _write(path: str, content: str, mode: int) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
    with open(descriptor, "w", encoding="utf-8", errors="surrogateescape") as file:
        os.fchmod(descriptor, mode)
        file.write(content)
