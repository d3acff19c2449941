"""A mount namespace in the place of a container: its own /run and accounts, all else as here."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

WORKER = 54321
PYTHON = "/usr/bin/python3"
_SCRIPT = """
set -e
mount -t tmpfs -o mode=755 none /run
mkdir /run/determined
mount --bind "$1" /run/determined
mount --bind "$2/passwd" /etc/passwd
mount --bind "$2/shadow" /etc/shadow
mount -t tmpfs -o mode=755 none /etc/profile.d
uid=$3
shift 3
if [ "$uid" = 0 ]; then exec "$@"; fi
exec setpriv --reuid "$uid" --regid "$uid" --clear-groups "$@"
"""


class Container:
    """Where a task's program sees its run directory at /run/determined.

    Args:
        root: a directory that others may enter.
        uid: whom the program runs as, 0 or `WORKER`.
        shadow: root's password field.
        has_worker: whether the image knows that user.
    """

    def __init__(
        self, root: Path, uid: int, *, shadow: str = "*", has_worker: bool = True
    ) -> None:
        self.run_dir = root / "run"
        self.uid = uid
        self._accounts = root / "accounts"
        self._accounts.mkdir()
        home = root / "home"
        home.mkdir()
        os.chown(home, uid, uid)
        known = [f"root:x:0:0::{home}:/bin/bash", "sshd:x:105:65534::/run/sshd:/bin/false"]
        if has_worker:
            known.append(f"worker:x:{WORKER}:{WORKER}::{home}:/bin/bash")
        (self._accounts / "passwd").write_text("\n".join(known) + "\n")
        (self._accounts / "shadow").write_text(f"root:{shadow}:1::::::\nsshd:!:1::::::\n")
        (self._accounts / "shadow").chmod(0o600)

    def command(self, *words: str) -> list[str]:
        """What runs these words in it."""
        where = [str(self.run_dir), str(self._accounts), str(self.uid)]
        space = ["unshare", "--mount", "--propagation", "private"]
        return [*space, "sh", "-c", _SCRIPT, "sh", *where, *words]

    def settle(self) -> None:
        """Give the run directory to the program's user, as an agent does."""
        for folder, _, names in os.walk(self.run_dir):
            for path in (folder, *(os.path.join(folder, name) for name in names)):
                os.chown(path, self.uid, self.uid)


def skip_without_containers() -> None:
    """Skip the test where none can be made."""
    if os.getuid() != 0:
        pytest.skip("only root makes mount namespaces of other users' programs")
    if not all(map(shutil.which, ("unshare", "setpriv"))):
        pytest.skip("there is no unshare or setpriv here (Debian's package util-linux)")
    probe = ["unshare", "--mount", "mount", "-t", "tmpfs", "none", "/run"]
    if subprocess.run(probe, capture_output=True, check=False).returncode:
        pytest.skip("no mount namespace can be made here")
    source = str(Path(__file__).parents[2] / "src" / "determined" / "__init__.py")
    become = ["setpriv", "--reuid", str(WORKER), "--regid", str(WORKER), "--clear-groups"]
    check = f"open({source!r}).close()"
    probed = subprocess.run([*become, PYTHON, "-S", "-c", check], capture_output=True, check=False)
    if probed.returncode:
        pytest.skip(f"another user cannot run {PYTHON} here, or read this repository")
