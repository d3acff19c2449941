"""A wheel of the agent and the harness, of the version of this master, for machines without one.

It is made of the installed files, so that neither a package index nor a build is needed.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import importlib.util
import io
import zipfile
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

from determined_master.domain.errors import Unavailable

PACKAGES = ("determined", "determined_wire", "determined_agent")
COMMANDS = {"det": "determined.cli.main:main", "determined-agent": "determined_agent.main:main"}
_MADE_AT = (1980, 1, 1, 0, 0, 0)
"""The same files make the same bytes."""
_TAGS = (
    "Wheel-Version: 1.0\nGenerator: determined-master\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)


class Wheel(NamedTuple):
    """A wheel file."""

    name: str
    content: bytes


class AgentWheel:
    """The wheel, built on first use."""

    def __init__(self) -> None:
        self._wheel: Wheel | None = None
        self._lock = asyncio.Lock()

    async def wheel(self) -> Wheel:
        """Raises Unavailable: the agent is not installed with the master."""
        async with self._lock:
            if self._wheel is None:
                self._wheel = await asyncio.to_thread(build)
            return self._wheel


def build() -> Wheel:
    """The wheel of the installed packages.

    Raises:
        Unavailable: one of them is not installed.
    """
    installed = metadata.distribution("determined")
    info = f"determined-{installed.version}.dist-info"
    entries = "".join(f"{name} = {target}\n" for name, target in COMMANDS.items())
    files = dict(_files())
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
    return Wheel(f"determined-{installed.version}-py3-none-any.whl", buffer.getvalue())


def _files() -> Iterator[tuple[str, bytes]]:
    for package in PACKAGES:
        spec = importlib.util.find_spec(package)
        if spec is None or not spec.submodule_search_locations:
            raise Unavailable(f"the package {package} is not installed beside the master")
        root = Path(next(iter(spec.submodule_search_locations)))
        for path in sorted(root.rglob("*")):
            inside = path.relative_to(root)
            if path.is_file() and "__pycache__" not in inside.parts:
                yield f"{package}/{inside.as_posix()}", path.read_bytes()


def _hash(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"
