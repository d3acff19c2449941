"""Wheels of the packages that are installed here: no package index and no build is needed.

    python -m determined_wire.wheel DIRECTORY [--may-lack-web-ui]

writes a wheel of everything and prints its path. Only the standard library is used, so this works
where the servers' own requirements are not installed.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.util
import io
import sys
import zipfile
from collections.abc import Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from determined_wire.release import DISTRIBUTION

AGENT = ("determined", "determined_wire", "determined_agent")
EVERYTHING = (*AGENT, "determined_master", "determined_deploy")
_COMMANDS = {
    "det": "determined.cli.main:main",
    "determined-agent": "determined_agent.main:main",
    "determined-journal": "determined_agent.journal.__main__:main",
    "determined-master": "determined_master.main:main",
}
FROM_CHECKOUT = {
    "determined_master": {"documentation": "docs"},
    "determined": {"cli/example_files": "examples"},
    "determined_deploy": {"kubernetes/chart": "deploy/helm/determined"},
}
"""Where files of a package lie in a checkout, of which an editable installation is.

The build has the same list in pyproject.toml.
"""
WEB_UI = "determined_master/webui/index.html"
_MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The same files make the same bytes."""
_TAGS = "Wheel-Version: 1.0\nGenerator: determined\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


class Wheel(NamedTuple):
    """A wheel file."""

    name: str
    content: bytes


class NotInstalledError(Exception):
    """A part of the wheel is not installed here."""


def build(packages: Sequence[str], *, may_lack_web_ui: bool = False) -> Wheel:
    """The wheel of some of the installed packages, with their commands.

    Args:
        packages: their import names.
        may_lack_web_ui: whether the master's package is taken also without a web UI.

    Raises:
        NotInstalledError: one of them is not installed, or the web UI is not.
    """
    installed = metadata.distribution(DISTRIBUTION)
    stem = f"{DISTRIBUTION.replace('-', '_')}-{installed.version}"
    info = f"{stem}.dist-info"
    entries = "".join(
        f"{name} = {target}\n"
        for name, target in _COMMANDS.items()
        if target.partition(".")[0] in packages
    )
    files = dict(_files(packages))
    if "determined_master" in packages and WEB_UI not in files and not may_lack_web_ui:
        raise NotInstalledError(
            "this installation has no web UI, so a master of its wheel would have none: run "
            "`make webui` in the checkout that is installed here, or install a wheel of "
            f"{DISTRIBUTION}"
        )
    files[f"{info}/METADATA"] = (installed.read_text("METADATA") or "").encode()
    files[f"{info}/WHEEL"] = _TAGS.encode()
    files[f"{info}/entry_points.txt"] = f"[console_scripts]\n{entries}".encode()
    record = "".join(
        f"{name},{_hash(content)},{len(content)}\n" for name, content in files.items()
    )
    files[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, _MADE_AT), content, zipfile.ZIP_DEFLATED)
    return Wheel(f"{stem}-py3-none-any.whl", buffer.getvalue())


def _files(packages: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    for package in packages:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise NotInstalledError(f"the package {package} is not installed here")
        root = Path(next(iter(spec.submodule_search_locations)))
        yield from _below(root, package)
        for place, source in FROM_CHECKOUT.get(package, {}).items():
            if not (root / place).is_dir():
                yield from _below(root.parents[1] / source, f"{package}/{place}")


def _below(directory: Path, name: str) -> Iterator[tuple[str, bytes]]:
    for path in sorted(directory.rglob("*")):
        inside = path.relative_to(directory)
        if path.is_file() and "__pycache__" not in inside.parts:
            yield f"{name}/{inside.as_posix()}", path.read_bytes()


def _hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def _main(directory: str, *options: str) -> None:
    try:
        wheel = build(EVERYTHING, may_lack_web_ui="--may-lack-web-ui" in options)
    except NotInstalledError as error:
        sys.exit(str(error))
    path = Path(directory) / wheel.name
    path.write_bytes(wheel.content)
    sys.stdout.write(f"{path}\n")


if __name__ == "__main__":
    _main(*sys.argv[1:])
