"""The files of media below a trial's TensorBoard directory, which is uploaded to its storage.

A file is `media/GROUP/NAME/STEPS.KIND.EXTENSION`. In GROUP and NAME every byte that is no letter,
digit, `-` or `_` is `=XX`, its value in hexadecimal digits, so that a name can have slashes, and
none is a path. A report at the same steps replaces the file. The files are deleted with those of
TensorBoard.
"""

from __future__ import annotations

import logging
import os
import pathlib
from typing import Any, Dict, List, Mapping

from determined.core._metrics import check_group
from determined.media._values import MIB, Encoded, Media, Text

logger = logging.getLogger("determined.core")

DIRECTORY = "media"
MAX_FILES = 5_000
"""Of one attempt of a trial."""
MAX_TOTAL_BYTES = 1024 * MIB
"""Of one attempt of a trial."""
MAX_STEPS = 10**12
MAX_NAME_BYTES = 200
"""Of a group or name as the name of a directory."""
_PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")


class MediaStore:
    """Writes the files of one process.

    Args:
        base: the directory of TensorBoard files.
    """

    def __init__(self, base: pathlib.Path) -> None:
        self._root = base / DIRECTORY
        self._partial = base.with_name(f"{base.name}-partial")
        self._sizes: Dict[str, int] = {}
        self._bytes = 0
        self._is_full = False

    def write(self, steps: int, media: Mapping[str, Encoded], group: str) -> List[pathlib.Path]:
        """Write files; return those that were written.

        Files beyond `MAX_FILES` or `MAX_TOTAL_BYTES` are left out with one warning: a training
        that has run for days must not end by its pictures.

        Raises:
            OSError: a file cannot be written.
        """
        written = []
        for name, value in media.items():
            path = path_of(group, name, steps, value)
            if not self._admits(path, len(value.content)):
                continue
            target = self._root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            self._partial.write_bytes(value.content)  # outside: half a file is not uploaded
            os.replace(self._partial, target)
            written.append(target)
        return written

    def _admits(self, path: str, size: int) -> bool:
        total = self._bytes - self._sizes.get(path, 0) + size
        is_new = path not in self._sizes
        if total > MAX_TOTAL_BYTES or (is_new and len(self._sizes) >= MAX_FILES):
            if not self._is_full:
                self._is_full = True
                logger.warning(
                    "media of this trial have reached %d files and %d bytes; at most %d files and "
                    "%d bytes are stored, and %s is left out, as is what follows; report media "
                    "less often, or store them in checkpoints",
                    len(self._sizes),
                    self._bytes,
                    MAX_FILES,
                    MAX_TOTAL_BYTES,
                    path,
                )
            return False
        self._sizes[path], self._bytes = size, total
        return True


def encoded(steps: int, media: Any, group: str) -> Dict[str, Encoded]:
    """The contents of a report by name, checked before anything is written.

    Raises:
        TypeError: an argument or a value is of a kind that cannot be reported.
        ValueError: the steps, a name or a value cannot be stored.
    """
    check_group(group)
    _escaped("group", group)
    if not 0 <= steps <= MAX_STEPS:
        raise ValueError(f"steps_completed is {steps}; it must be from 0 to {MAX_STEPS}")
    if not isinstance(media, Mapping):
        raise TypeError(
            "media must be a dict of values by name, such as {'sample': Image(array)}, got "
            f"{type(media).__name__}: {media!r:.100}"
        )
    contents = {}
    for name, value in media.items():
        _escaped("name", name)
        contents[name] = _encoded(name, value)
    return contents


def path_of(group: str, name: str, steps: int, value: Encoded) -> str:
    """The path of a file below the directory of media."""
    file = f"{steps:012d}.{value.kind}.{value.extension}"
    return f"{_escaped('group', group)}/{_escaped('name', name)}/{file}"


def is_media(path: pathlib.Path) -> bool:
    """Whether a file below a TensorBoard directory is one of these."""
    return path.parts[-4:-3] == (DIRECTORY,)


def _encoded(name: str, value: Any) -> Encoded:
    if isinstance(value, str):
        value = Text(value)
    if not isinstance(value, Media):
        raise TypeError(
            f"media {name!r} is a {type(value).__name__}; wrap it: determined.media.Image, Table, "
            "Histogram, Audio or Text"
        )
    try:
        return value.encode()
    except (TypeError, ValueError) as error:
        raise type(error)(f"media {name!r}: {error}") from error


def _escaped(what: str, name: Any) -> str:
    """A name as that of a directory."""
    if not isinstance(name, str):
        raise TypeError(f"the {what} of media must be text, got {name!r:.100}")
    text = "".join(
        chr(byte) if byte in _PLAIN else f"={byte:02X}"
        for byte in name.encode("utf-8", errors="replace")
    )
    if not 1 <= len(text) <= MAX_NAME_BYTES:
        raise ValueError(
            f"the {what} of media {name!r:.100} is {len(text)} characters long when escaped; it "
            f"must be 1 to {MAX_NAME_BYTES} (a byte that is no letter, digit, - or _ counts three "
            "times)"
        )
    return text
