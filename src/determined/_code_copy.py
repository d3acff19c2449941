"""The copy of a script's directory in its checkpoints, of a script that no cluster has packed."""

from __future__ import annotations

import functools
import logging
import os
import pathlib
import shutil
from typing import Iterator, List, Tuple

from determined.common import context, ignore, text_file

logger = logging.getLogger("determined")

MAX_FILES = 10_000
NO_CODE = (".*/", "node_modules/")
"""Directories that have no code of the script: of tools, caches and packages."""


def copy_code(
    source: pathlib.Path, target: pathlib.Path, limit_bytes: int = context.LIMIT_BYTES
) -> None:
    """Copy the files of a directory, as a cluster would get them.

    It leaves out the files that `.detignore` names, hidden directories, virtual environments, byte
    code, links, and files that cannot be read. Above the limits it copies nothing and warns once,
    so that checkpoints do not contain data that lies beside the script.
    """
    copied: List[Tuple[pathlib.Path, str]] = []
    total_bytes = 0
    for file, path, size in _files(source, "", ignore.Ignore(_ignored_by(source))):
        copied.append((file, path))
        total_bytes += size
        if total_bytes > limit_bytes or len(copied) > MAX_FILES:
            _warn_of_limit(source, limit_bytes >> 20)
            return
    for file, path in copied:
        place = target / path
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            shutil.copy2(file, place)
        except OSError as error:
            logger.warning("'%s' is not in the checkpoint: %s", file, error.strerror)


@functools.cache
def _warn_of_limit(source: pathlib.Path, limit_mb: int) -> None:
    logger.warning(
        "checkpoints are stored without code: '%s' has more than %d MB or %d files; name those "
        "that are no code in .detignore",
        source,
        limit_mb,
        MAX_FILES,
    )


def _ignored_by(source: pathlib.Path) -> List[str]:
    lines = [*context.ALWAYS_IGNORED, *NO_CODE]
    own = source / ".detignore"
    if own.is_file():
        try:
            lines += text_file.read(own, "ignore file").splitlines()
        except text_file.TextFileError as error:
            logger.warning("%s", error)
    return lines


def _files(
    folder: pathlib.Path, prefix: str, ignored: ignore.Ignore
) -> Iterator[Tuple[pathlib.Path, str, int]]:
    """Each file, its path below the directory, and its bytes."""
    try:
        entries = sorted(os.scandir(str(folder)), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        path = prefix + entry.name
        is_directory = entry.is_dir(follow_symlinks=False)
        if ignored.covers(path, is_directory):
            continue
        if entry.is_file(follow_symlinks=False):
            yield pathlib.Path(entry.path), path, entry.stat(follow_symlinks=False).st_size
        elif is_directory and not os.path.exists(os.path.join(entry.path, "pyvenv.cfg")):
            yield from _files(pathlib.Path(entry.path), f"{path}/", ignored)
