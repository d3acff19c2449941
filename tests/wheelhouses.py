"""Directories of wheels, made of what is installed here, and the lock that accepts these alone."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import zipfile
from importlib import metadata
from pathlib import Path

from determined_wire.locked import FILE, LISTED, requirements
from determined_wire.wheel import EVERYTHING, Wheel, build

_MADE_AT = (2020, 1, 1, 0, 0, 0)


def fill(directory: Path, *extras: str) -> str:
    """Put a wheel of each package that extras lock into a new directory; the lock of these."""
    directory.mkdir()
    lines, needs = [], {extra: _names(extra) for extra in LISTED}
    for name in sorted(set().union(*(needs[extra] for extra in extras))):
        path = _wheel(metadata.distribution(name), directory)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        version = metadata.version(name)
        needed_by = ",".join(extra for extra in LISTED if name in needs[extra])
        lines.append(f"{needed_by}\t{name}=={version} --hash=sha256:{digest}\n")
    return "".join(lines)


def release(directory: Path, *extras: str) -> tuple[Wheel, Path]:
    """What is installed here as a release that accepts the wheels of `directory / "house"`.

    Returns:
        its wheel, and a directory for the PYTHONPATH of processes that run this release.
    """
    lock = fill(directory / "house", *extras)
    made = with_lock(build(EVERYTHING, may_lack_web_ui=True), lock)
    site = directory / "site"
    with zipfile.ZipFile(io.BytesIO(made.content)) as archive:
        archive.extractall(site)
    return made, site


def with_lock(wheel: Wheel, lock: str) -> Wheel:
    """The same wheel, with that lock for its own."""
    buffer = io.BytesIO()
    place = f"determined_wire/{FILE}"
    with (
        zipfile.ZipFile(io.BytesIO(wheel.content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, lock if name == place else old.read(name))
    return Wheel(wheel.name, buffer.getvalue())


def _names(extra: str) -> set[str]:
    return {line.partition("==")[0] for line in requirements([extra]).splitlines()}


def _wheel(distribution: metadata.Distribution, directory: Path) -> Path:
    """A wheel as the one that the distribution was installed from."""
    tags = re.findall(r"^Tag: (\S+)$", distribution.read_text("WHEEL") or "", re.M)
    name = re.sub(r"[-_.]+", "_", distribution.metadata["Name"])
    path = directory / f"{name}-{distribution.version}-{tags[0]}.whl"
    rows = list(csv.reader((distribution.read_text("RECORD") or "").splitlines()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        kept = [row for row in rows if not row[0].startswith("..") and "__pycache__" not in row[0]]
        for inside, *_ in kept:
            if not inside.endswith(".dist-info/RECORD"):
                content = Path(str(distribution.locate_file(inside))).read_bytes()
                archive.writestr(zipfile.ZipInfo(inside, _MADE_AT), content)
        record = io.StringIO()
        csv.writer(record).writerows(kept)
        [inside] = [row[0] for row in kept if row[0].endswith(".dist-info/RECORD")]
        archive.writestr(zipfile.ZipInfo(inside, _MADE_AT), record.getvalue())
    return path
