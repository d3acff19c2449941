"""A directory of wheels from which machines install without a package index.

    python -m determined_wire.wheelhouse DIRECTORY ARCHIVE EXTRA...

writes those that extras need into a tar archive, which is not there yet. Only the standard library
is used, so this works where the servers' own requirements are not installed.
"""

from __future__ import annotations

import hashlib
import sys
import tarfile
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from determined_wire.locked import requirements

_CHUNK = 1 << 20
_HASH = " --hash=sha256:"
_TAR_END = bytes(2 * tarfile.BLOCKSIZE)


class BadWheelhouseError(Exception):
    """Machines could not install from the directory; the text has the remedy."""


class _Pin(NamedTuple):
    """A package of the lock."""

    name: str
    """With its version: `msgspec==0.22.0`."""
    is_for_all: bool
    """Whether every machine needs it, whatever its Python."""
    hashes: frozenset[str]


def files(directory: Path, extras: Sequence[str], more: Sequence[str] = ()) -> list[Path]:
    """The wheels in the directory that the lock of this release accepts.

    Others are no part of what machines get: pip would refuse them.

    Args:
        directory: of wheels, for one release of Python or for several.
        extras: whose packages must be there.
        more: extras whose packages are taken where they are there.

    Raises:
        BadWheelhouseError: the directory cannot be read, or lacks a package.
    """
    if not directory.is_dir():
        raise BadWheelhouseError(f"{directory} is not a directory: name one of wheels")
    try:
        wheels = [(path, path.stat()) for path in sorted(directory.glob("*.whl"))]
        digests = {_digest(p, s.st_mtime_ns, s.st_size): p for p, s in wheels}
    except OSError as error:
        raise BadWheelhouseError(f"{error}: name a directory of wheels") from None
    needed = _pins(extras)
    missing = [p.name for p in needed if p.is_for_all and not p.hashes & digests.keys()]
    if missing:
        words = " ".join(extras)
        raise BadWheelhouseError(
            f"{directory} has no wheel that this release accepts of {', '.join(missing)}: run "
            f"`python -m determined_wire.locked {words} >locked.txt`, then `pip download "
            f"--only-binary :all: --require-hashes --dest {directory} --requirement locked.txt`, "
            "with the machines' release of Python"
        )
    accepted = frozenset[str]().union(*(pin.hashes for pin in _pins((*extras, *more))))
    return [path for digest, path in digests.items() if digest in accepted]


def archive(paths: Sequence[Path]) -> Iterator[bytes]:
    """The files as a tar archive, piece by piece; without files an empty one.

    Raises:
        OSError: a file cannot be read.
    """
    for path in paths:
        entry = tarfile.TarInfo(path.name)
        entry.size = path.stat().st_size
        yield entry.tobuf(tarfile.USTAR_FORMAT if len(path.name) < 100 else tarfile.PAX_FORMAT)
        with path.open("rb") as file:
            while piece := file.read(_CHUNK):
                yield piece
        yield bytes(-entry.size % tarfile.BLOCKSIZE)
    yield _TAR_END


def _pins(extras: Sequence[str]) -> Iterator[_Pin]:
    for line in requirements(extras).splitlines():
        head, *hashes = line.split(_HASH)
        name, _, marker = head.partition(";")
        yield _Pin(name.strip(), not marker, frozenset(hashes))


@lru_cache(maxsize=1000)
def _digest(path: Path, changed_ns: int, size: int) -> str:
    """Of one state of a file: each machine of a fleet asks for the same files.

    A file that changes later is no danger: the machine compares hashes again.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_CHUNK):
            digest.update(piece)
    return digest.hexdigest()


def _main(directory: str, target: str, *extras: str) -> None:
    try:
        paths = files(Path(directory), extras)
        with open(target, "xb") as file:
            file.writelines(archive(paths))
    except (BadWheelhouseError, OSError) as error:
        sys.exit(str(error))


if __name__ == "__main__":
    _main(*sys.argv[1:])
