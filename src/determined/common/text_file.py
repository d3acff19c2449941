"""Text files that users write, with the place of an invalid character."""

from __future__ import annotations

import codecs
import os
from typing import Union

PathLike = Union[str, "os.PathLike[str]"]


class TextFileError(Exception):
    """A file cannot be read; the message has the file, the reason and a remedy."""


def read(path: PathLike, what: str = "file", kind: str = "file") -> str:
    """The text of a UTF-8 file, without a byte-order mark.

    Args:
        path: the file.
        what: how messages name the file, such as `config file`.
        kind: what to name in place of a directory, such as `YAML file`.

    Raises:
        TextFileError: the file is missing, unreadable, or not UTF-8.
    """
    try:
        with open(path, "rb") as file:
            data = file.read()
    except IsADirectoryError:
        raise TextFileError(f"{what} '{path}' is a directory: name a {kind}") from None
    except (OSError, ValueError) as error:  # ValueError: the path has a NUL
        reason = getattr(error, "strerror", None) or str(error)
        raise TextFileError(f"{what} '{path}': {reason}") from None
    return decoded(data, path, what)


def decoded(data: bytes, path: PathLike, what: str = "file") -> str:
    """The text of a file's bytes, as `read` has it.

    Raises:
        TextFileError: they are not UTF-8.
    """
    if data.startswith(codecs.BOM_UTF8):
        data = data[len(codecs.BOM_UTF8) :]
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise TextFileError(
            f"{what} '{path}', line {line}: byte {data[error.start]:#04x} is not UTF-8 text: "
            "save it as UTF-8"
        ) from None
