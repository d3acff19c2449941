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
    """The account of tasks, or the reason why they run as root."""

    name: str
    uid: int = 0
    gid: int = 0
    group: str = "root"
    reason: str = ""
    is_given: bool = False
    """Whether an option names it."""

    def setting(self) -> Dict[str, Any]:
        """The master's `security.default_task`."""
        return {"user": self.name, "uid": self.uid, "group": self.group, "gid": self.gid}


def choose(asked: Optional[str]) -> Optional[TaskAccount]:
    """The account of tasks, created if it is missing; None if a user starts the cluster.

    Args:
        asked: its name; None for the default, which is given up if it cannot be used.

    Raises:
        CliError: the named account cannot be used.
    """
    if os.geteuid() != 0:
        if asked:
            raise errors.CliError(
                "--task-account: only root can run tasks as another account; leave it out"
            )
        return None
    if asked == "root":
        return TaskAccount("root", reason="--task-account root", is_given=True)
    try:
        return dataclasses.replace(_usable(asked or NAME), is_given=asked is not None)
    except errors.CliError as error:
        if asked:
            raise
        return TaskAccount("root", reason=str(error))


def _usable(name: str) -> TaskAccount:
    found = _find(name)
    if found is None:
        _check(name, _NOBODY, _NOBODY)  # no account is created in vain
        found = _create(name)
    if found.pw_uid == 0:
        raise errors.CliError(f"the account '{name}' has uid 0: name another one")
    _check(name, found.pw_uid, found.pw_gid)
    group = grp.getgrgid(found.pw_gid).gr_name
    return TaskAccount(name, found.pw_uid, found.pw_gid, group)


def _find(name: str) -> Optional[pwd.struct_passwd]:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def _create(name: str) -> pwd.struct_passwd:
    program = shutil.which("useradd", path=f"{os.environ.get('PATH', os.defpath)}:/usr/sbin")
    if program is None:
        raise errors.CliError(f"there is no account '{name}' and no program useradd: create it")
    command = [program, "--system", "--user-group", "--no-create-home"]
    command += ["--home-dir", "/nonexistent", "--shell", "/bin/sh", name]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    found = _find(name)
    if done.returncode or found is None:
        reason = done.stderr.strip() or f"exit code {done.returncode}"
        raise errors.CliError(f"the account '{name}' cannot be created: {reason}")
    return found


def _check(name: str, uid: int, gid: int) -> None:
    """Check that an account reaches this Python and the harness. Raises CliError."""
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
    if reason is not None:
        raise errors.CliError(
            f"the account '{name}' cannot run Determined with {sys.executable} "
            f"({''.join(reason)}): install it where all accounts can read it, with a Python that "
            "they can read too: /usr/bin/python3 -m venv /opt/determined && "
            "/opt/determined/bin/pip install 'determined[master,agent]'; then start the cluster "
            "with /opt/determined/bin/det"
        )
