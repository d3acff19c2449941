"""Roots of Debian, as a cloud's own image has one, and machine images made of them."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from tests.booted_machine import CannotBoot, missing
from tests.deploy.installed import install
from tests.kept_trees import packed_tree

from determined_deploy.cloud.wheel import build_wheel

BUILD = Path(__file__).parents[1] / "deploy" / "images" / "build"
_PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates,curl,python3,python3-venv"


def packed_root() -> Path:
    """An archive with the root's files. Raises CannotBoot."""
    if (reason := missing()) is not None:
        raise CannotBoot(reason)
    if shutil.which("debootstrap") is None:
        raise CannotBoot("debootstrap is not installed")
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "bookworm")
    command = ("debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release)
    made_by = [*command, platform.machine()]
    return packed_tree("machine", made_by, lambda tree: _debootstrap(command, tree))


def _debootstrap(command: Sequence[str], root: Path) -> None:
    made = subprocess.run(
        [*command, str(root)], capture_output=True, text=True, check=False, timeout=900
    )
    if made.returncode:
        raise CannotBoot(f"debootstrap could not make a root: {made.stdout[-300:]}")
    subprocess.run(["chroot", str(root), "apt-get", "clean"], check=True)


def packages(directory: Path, root: Path) -> Path:
    """Packages of agent and master, as pip installs them. Raises CannotBoot."""
    version = "import sys; print(*sys.version_info[:2], sep='.')"
    has = subprocess.run(
        ["chroot", str(root), "python3", "-c", version], capture_output=True, text=True, check=True
    ).stdout.strip()
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if has != own:
        raise CannotBoot(f"the tests' packages are for Python {own}, the root has {has}")
    install(directory, "agent", "master", "aws", "gcp")
    wheel = build_wheel(str(directory), may_lack_web_ui=True)
    with zipfile.ZipFile(wheel) as archive:  # with the metadata of an installed package
        archive.extractall(directory)
    wheel.unlink()
    return directory


def build(part: str, root: Path, packages: Path) -> str:
    """Make an image of a root by deploy/images/build; what it printed."""
    done = subprocess.run(
        [str(BUILD), part, str(root)],
        env={"PATH": os.environ["PATH"], "PACKAGES": str(packages)},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
