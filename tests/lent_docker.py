"""A Docker daemon that root starts and lends to a user, as an admin does for the group of Docker.

python -m tests.lent_docker USER

Prints the daemon's directory once it has the test image, or the reason why there is none, and ends
it with the standard input. The user's tests find the directory in the variable `LENT_DOCKER`.
"""

from __future__ import annotations

import os
import pwd
import sys
import tempfile
from pathlib import Path

from tests.debian_tree import CannotRun
from tests.docker_daemon import Daemon, build_image, daemon

VARIABLE = "LENT_DOCKER"


def lent_daemon() -> Daemon | None:
    """The daemon that root has lent to this user, who can neither end nor start it."""
    root = os.environ.get(VARIABLE)
    return Daemon(Path(root), None) if root else None


def main() -> None:
    user = pwd.getpwnam(sys.argv[1])
    try:
        with daemon() as made, tempfile.TemporaryDirectory(prefix="det-tree-") as scratch:
            image = build_image(made, Path(scratch) / "image")
            # The first container mounts the daemon's network; the user's tests leave no mount.
            made.run("run", "--rm", "--network", "host", image, "true")
            os.chown(made.socket, 0, user.pw_gid)
            made.socket.chmod(0o660)
            print(made.root, flush=True)
            sys.stdin.read()
    except CannotRun as error:
        print(f"no Docker for {user.pw_name}: {error}", file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
