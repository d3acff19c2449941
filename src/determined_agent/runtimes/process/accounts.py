"""Whether the accounts of tasks can run the harness with this agent's Python."""

from __future__ import annotations

import subprocess

from determined_agent.container.environment import HostEnvironment
from determined_wire.agent_link import TaskUser

_CHECK_S = 60.0
_PROGRAM = "import determined"


class TaskAccounts:
    """Remembers the accounts that can; it asks again about the others, which may be mended."""

    def __init__(self) -> None:
        self._usable: set[tuple[int, int]] = set()

    def find_problem(self, user: TaskUser, host: HostEnvironment) -> str:
        """Why tasks of this account would not start, with the remedy; empty if they would.

        Without this check a task would run with another `python3` of the search path, or end with
        an error of Python's that names no remedy.
        """
        if (user.uid, user.gid) in self._usable:
            return ""
        try:
            done = subprocess.run(
                [host.python, "-c", _PROGRAM],
                user=user.uid,
                group=user.gid,
                extra_groups=[],
                cwd="/",
                env={"PATH": host.path, "PYTHONPATH": host.pythonpath},
                capture_output=True,
                timeout=_CHECK_S,
                check=False,
            )
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            ended = f"exit code {done.returncode}" if done.returncode else ""
            reason = ended and ("".join(lines[-1:]) or ended)
        except subprocess.TimeoutExpired:
            return ""  # a busy machine: the task itself will show it
        except OSError as error:
            reason = str(error.strerror)
        if not reason:
            self._usable.add((user.uid, user.gid))
            return ""
        return (
            f"the account {user.user} (uid {user.uid}) cannot run the agent's Python "
            f"{host.python} ({reason}): install Determined where all accounts can read it, such "
            "as /opt/determined, and start the agent from there; or link the user to another "
            "account (det user link-with-agent-user)"
        )
