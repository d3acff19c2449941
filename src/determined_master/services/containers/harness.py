"""The code that runs inside a task, as one archive, for machines without an installation."""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import io
import tarfile
from pathlib import Path

from determined_master.domain.errors import Unavailable

PACKAGES = ("determined", "urllib3", "ruamel.yaml")
"""The harness and its dependencies inside a task."""
_LEFT_OUT = frozenset({"__pycache__"})
_SUFFIXES = frozenset({".pyc", ".pyo", ".so"})


class Harness:
    """The archive, built on first use: about 600 KB."""

    def __init__(self) -> None:
        self._archive: bytes | None = None
        self._lock = asyncio.Lock()

    async def archive(self) -> bytes:
        """tar.gz of the packages, to be unpacked into a directory of PYTHONPATH.

        Raises:
            Unavailable: one of them is not installed with the master.
        """
        async with self._lock:
            if self._archive is None:
                self._archive = await asyncio.to_thread(pack)
            return self._archive


def pack() -> bytes:
    """The archive; the same bytes for the same files.

    Raises:
        Unavailable: a package is not installed.
    """
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for package in PACKAGES:
            root = _location(package)
            for path in sorted(p for p in root.rglob("*") if _is_wanted(p.relative_to(root))):
                name = Path(*package.split("."), path.relative_to(root))
                _add(archive, path, str(name))
    return buffer.getvalue()


def _add(archive: tarfile.TarFile, path: Path, name: str) -> None:
    content = path.read_bytes()
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), 0o644
    archive.addfile(info, io.BytesIO(content))


def _is_wanted(path: Path) -> bool:
    is_left_out = _LEFT_OUT.intersection(path.parts) or path.suffix in _SUFFIXES
    return bool(path.suffix) and not is_left_out


def _location(package: str) -> Path:
    try:
        spec = importlib.util.find_spec(package)
    except ModuleNotFoundError:
        spec = None
    if spec is None or not spec.submodule_search_locations:
        raise Unavailable(
            f"the package {package} is not installed beside the master: pods get it from there"
        )
    return Path(next(iter(spec.submodule_search_locations)))
