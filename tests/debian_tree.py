"""The files of an image that has Python and ssh and little else, from Debian's packages.

The packages are unpacked, not configured: a tenth of the time that debootstrap takes.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
from pathlib import Path

from tests.kept_trees import packed_tree, unpack

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Where its programs are."""
_PACKAGES = (
    *("python3-minimal", "python3", "bash", "dash", "coreutils", "base-files"),
    *("openssh-server", "openssh-client", "libstdc++6"),
)


class CannotRun(Exception):
    """Containers cannot be had on this machine; the text says why."""


def build_tree(tree: Path) -> None:
    """Make the files below a directory that is not there yet. Raises CannotRun."""
    release = platform.freedesktop_os_release().get("VERSION_CODENAME", "")
    made_by = [release, platform.machine(), Path(__file__).read_text()]
    unpack(packed_tree("image", made_by, _build), tree)


def _build(tree: Path) -> None:
    if shutil.which("apt-get") is None:
        raise CannotRun("apt-get is not installed: the image is made of Debian's packages")
    packages = tree.with_name("packages")
    packages.mkdir(parents=True)
    tree.mkdir()
    try:
        subprocess.run(
            ["apt-get", "download", "-qq", *_with_dependencies()],
            cwd=packages,
            check=True,
            capture_output=True,
            timeout=240,
        )
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode()[-300:]
        raise CannotRun(f"Debian's packages are not to be had: {said}") from error
    for package in sorted(packages.glob("*.deb")):
        subprocess.run(["dpkg-deb", "-x", str(package), str(tree)], check=True)
    (tree / "etc").mkdir(exist_ok=True)
    (tree / "etc/passwd").write_text(
        "root:x:0:0:root:/root:/bin/bash\nsshd:x:101:101::/run/sshd:/bin/sh\n"
    )
    (tree / "etc/group").write_text("root:x:0:\n")
    for name in ("bin/sh", "tmp", "var/tmp", "root", "run", "run/sshd", "proc", "sys", "dev"):
        path = tree / name
        if name == "bin/sh":
            path.unlink(missing_ok=True)
            path.symlink_to("dash")
        else:
            path.mkdir(parents=True, exist_ok=True)
    (tree / "tmp").chmod(0o1777)
    (tree / "var/tmp").chmod(0o1777)
    for name in ("usr/share/doc", "usr/share/locale", "usr/share/man", "var/lib/dpkg"):
        shutil.rmtree(tree / name, ignore_errors=True)
    _compile(tree)
    shutil.rmtree(packages)


def _compile(tree: Path) -> None:
    """As the packages' own configuration does: without it every start compiles what it imports."""
    for library in tree.glob("usr/lib/python3*"):
        for name in ("idlelib", "lib2to3", "pydoc_data", "distutils", "unittest"):
            shutil.rmtree(library / name, ignore_errors=True)
    command = ["chroot", str(tree), "python3", "-m", "compileall", "-q", "/usr/lib"]
    subprocess.run(command, check=True, capture_output=True, timeout=120)


def _with_dependencies() -> list[str]:
    """The packages and all they need, without the package manager's own configuration."""
    told = subprocess.run(
        [
            *("apt-cache", "depends", "--recurse", "--no-recommends", "--no-suggests"),
            *("--no-conflicts", "--no-breaks", "--no-replaces", "--no-enhances", *_PACKAGES),
        ],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    left_out: tuple[str, ...] = (
        "debconf",
        "perl",
        "libperl",
        "dpkg",
        "tar",
        "mawk",
        "gawk",
        "original-awk",
    )
    left_out += ("adduser", "passwd", "procps", "ucf", "sensible-utils", "lsb-base", "runit")
    left_out += ("usrmerge", "usr-is-merged", "libnewt", "libslang", "libtextwrap", "libdebian")
    left_out += ("libelogind", "libproc2", "libfile-find", "libnumber-compare", "libtext-glob")
    left_out += (
        "sysv",
        "init-",
        "libpam-modules",
        "libpam-runtime",
        "cdebconf",
        "mailcap",
        "media-types",
        "mime-",
        "gcc-",
        "install-info",
    )
    names = {
        line.strip() for line in told.splitlines() if line and not line.startswith((" ", "<"))
    }
    return sorted(n for n in names if not n.startswith(left_out) and ":" not in n)
