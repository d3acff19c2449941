"""The account of tasks on a cluster that root starts: root's own would read everything."""

from __future__ import annotations

import dataclasses
import grp
import os
import pwd
import shutil
import subprocess
import sys
from typing import Any, Dict, Optional

from determined.cli import errors

NAME = "determined-task"
_CHECK_S = 60
_NOBODY = 65534


@dataclasses.dataclass(frozen=True)
class TaskAccount:
    """The account of tasks."""

    name: str
    uid: int = 0
    gid: int = 0
    group: str = "root"
    problem: str = ""
    """Why tasks cannot run as this account now, with the remedy; they fail then."""
    is_given: bool = False
    """Whether an option names it."""

    def setting(self) -> Dict[str, Any]:
        """The master's `security.default_task`."""
        return {"user": self.name, "uid": self.uid, "group": self.group, "gid": self.gid}


def choose(name: Optional[str]) -> Optional[TaskAccount]:
    """The account of tasks, created if it is missing; None if a user starts the cluster.

    Args:
        name: its name; None for the default. Tasks never run as root instead of it.

    Raises:
        CliError: the named account cannot be used, or the default one cannot be created.
    """
    if os.geteuid() != 0:
        if name:
            raise errors.CliError(
                "--task-account: only root can run tasks as another account; leave it out"
            )
        return None
    if name == "root":
        return TaskAccount("root", is_given=True)
    account = dataclasses.replace(_account(name or NAME), is_given=name is not None)
    if name and account.problem:
        raise errors.CliError(account.problem)
    return account


def others_cannot_run() -> bool:
    """Whether accounts without rights of their own cannot run this Python and the harness."""
    return bool(_problem("nobody", _NOBODY, _NOBODY))


def _account(name: str) -> TaskAccount:
    entry = _find(name) or _create(name)
    if entry.pw_uid == 0:
        raise errors.CliError(f"the account '{name}' has uid 0: name another one")
    group = grp.getgrgid(entry.pw_gid).gr_name
    problem = _problem(name, entry.pw_uid, entry.pw_gid)
    return TaskAccount(name, entry.pw_uid, entry.pw_gid, group, problem)


def _find(name: str) -> Optional[pwd.struct_passwd]:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _create(name: str) -> pwd.struct_passwd:
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        raise errors.CliError(
            f"there is no account '{name}' for tasks, and no program useradd: create it, or give "
            "--task-account root: tasks may read all files then"
        )
    command = [program, "--system", "--user-group", "--no-create-home"]
    command += ["--home-dir", "/nonexistent", "--shell", "/bin/sh", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    entry = _find(name)
    if done.returncode or entry is None:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise errors.CliError(f"the account '{name}' cannot be created: {reason}")
    return entry


def _problem(name: str, uid: int, gid: int) -> str:
    """Why an account does not reach this Python and the harness; "" if it does."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", "import determined"],
            user=uid,
            group=gid,
            extra_groups=[],
            cwd="/",
            capture_output=True,
            text=True,
            check=False,
            timeout=_CHECK_S,
        )
        reason = done.stderr.strip().splitlines()[-1:] if done.returncode else None
    except OSError as error:
        reason = [str(error.strerror)]
    if reason is None:
        return ""
    return (
        f"the account '{name}' cannot run Determined with {sys.executable} "
        f"({''.join(reason)}): install it where all accounts can read it, with a Python that "
        "they can read too: /usr/bin/python3 -m venv /opt/determined && "
        "/opt/determined/bin/pip install 'determined-platform[master,agent]'; then start the "
        "cluster with /opt/determined/bin/det"
    )
