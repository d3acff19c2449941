"""A directory that tasks of other accounts may enter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def open_directory() -> Iterator[Path]:
    """A directory of mode 711, gone at the end.

    `tmp_path` is none: each start of pytest closes the directory above it to other accounts.
    """
    with tempfile.TemporaryDirectory(prefix="det-open-") as directory:
        path = Path(directory)
        path.chmod(0o711)
        yield path
