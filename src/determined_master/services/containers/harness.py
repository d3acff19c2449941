"""The code that runs inside a task, as archives, for machines without an installation."""

from __future__ import annotations

import asyncio
import gzip
import importlib.util
import io
import platform
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

from determined_master.domain.errors import NotFound, Unavailable

PACKAGES = ("determined", "urllib3", "ruamel.yaml")
"""The harness and its dependencies inside a task."""
STORAGE_CLIENT = ("obstore", "certifi")
"""The client of buckets, and the authorities that it trusts, for images without them."""
_LEFT_OUT = frozenset({"__pycache__"})
_SUFFIXES = frozenset({".pyc", ".pyo", ".so"})


class Harness:
    """The archives, each built on first use: about 600 KB, and 6 MB of the client of buckets."""

    def __init__(self) -> None:
        self._archive: bytes | None = None
        self._storage_client: bytes | None = None
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

    async def storage_client(self, machine: str) -> bytes:
        """tar.gz of the client of buckets, of the master's own installation.

        Args:
            machine: the architecture of the task's machine, as `platform.machine` has it.

        Raises:
            NotFound: the master has none, or one for another architecture.
        """
        own = platform.machine()
        if machine != own:
            raise NotFound(
                f"the master has {STORAGE_CLIENT[0]} for {own}, and the task runs on {machine!r}: "
                f"install {STORAGE_CLIENT[0]} in the task's image"
            )
        async with self._lock:
            if self._storage_client is None:
                try:
                    self._storage_client = await asyncio.to_thread(pack_storage_client)
                except Unavailable as error:
                    raise NotFound(str(error)) from None
            return self._storage_client


def pack() -> bytes:
    """The archive; the same bytes for the same files.

    Raises:
        Unavailable: a package is not installed.
    """
    return _packed(PACKAGES, _is_wanted)


def pack_storage_client() -> bytes:
    """The archive of the client of buckets, with its compiled part; errors as `pack`."""
    return _packed(STORAGE_CLIENT, lambda path: path.suffix in (".py", ".so", ".pem"))


def _packed(packages: Sequence[str], is_wanted: Callable[[Path], bool]) -> bytes:
    buffer = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w") as archive,
    ):
        for package in packages:
            root = _location(package)
            for path in sorted(p for p in root.rglob("*") if is_wanted(p.relative_to(root))):
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
            f"the package {package} is not installed beside the master: tasks get it from there"
        )
    return Path(next(iter(spec.submodule_search_locations)))
