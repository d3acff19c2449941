"""Roots of Debian, as a cloud's own image has one, and machine images made of them.

The root is kept where BARE_CACHE names a directory.
"""

from __future__ import annotations

import fcntl
import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.booted_machine import CannotBoot, missing
from tests.deploy.installed import install

from determined.cli.deploy.cloud.wheel import build_wheel

BUILD = Path(__file__).parents[1] / "deploy" / "images" / "build"
_PACKAGES = "systemd,systemd-sysv,dbus,ca-certificates,curl,python3,python3-venv"


def packed_root(directory: Path) -> Path:
    """An archive with the root's files. Raises CannotBoot."""
    if (reason := missing()) is not None:
        raise CannotBoot(reason)
    if shutil.which("debootstrap") is None:
        raise CannotBoot("debootstrap is not installed")
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "bookworm")
    cache = Path(os.environ.get("BARE_CACHE") or directory)
    packed = cache / f"machine-{release}.tar"
    cache.mkdir(parents=True, exist_ok=True)
    with (cache / f"machine-{release}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # suites of several workers need the same one
        if not packed.exists():
            _make(packed, release, directory / "root")
    return packed


def _make(packed: Path, release: str, root: Path) -> None:
    made = subprocess.run(
        ["debootstrap", "--variant=minbase", f"--include={_PACKAGES}", release, str(root)],
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    if made.returncode:
        raise CannotBoot(f"debootstrap could not make a root: {made.stdout[-300:]}")
    subprocess.run(["chroot", str(root), "apt-get", "clean"], check=True)
    part = packed.with_suffix(".part")
    subprocess.run(["tar", "-C", str(root), "-cf", str(part), "."], check=True)
    part.rename(packed)
    shutil.rmtree(root)


def unpacked(packed: Path, root: Path) -> Path:
    """The root's files in a new directory."""
    root.mkdir()
    subprocess.run(["tar", "-C", str(root), "-xf", str(packed)], check=True)
    return root


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
    wheel = build_wheel(str(directory))
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
