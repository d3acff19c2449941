"""Imports from a directory that is not on `sys.path`, such as a downloaded checkpoint."""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import threading
from typing import Iterator, Union

_lock = threading.RLock()


@contextlib.contextmanager
def import_from_path(path: Union[str, os.PathLike[str]]) -> Iterator[None]:
    """Search `path` first for imports inside the block.

    When the block ends, modules imported from `path` are removed from `sys.modules`, and modules
    of the same names that were loaded before are restored. Code of two checkpoints can thus be
    loaded side by side. A lock admits one thread at a time.
    """
    root = os.path.realpath(os.fspath(path))
    with _lock:
        before = dict(sys.modules)
        for name in _names_in(root) & before.keys():
            for loaded in [m for m in sys.modules if m == name or m.startswith(name + ".")]:
                del sys.modules[loaded]
        sys.path.insert(0, root)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            with contextlib.suppress(ValueError):
                sys.path.remove(root)
            for name, module in list(sys.modules.items()):
                file = getattr(module, "__file__", None)
                if name not in before and file and _is_below(file, root):
                    del sys.modules[name]
            sys.modules.update(
                {name: module for name, module in before.items() if name not in sys.modules}
            )
            for name in _names_in(root) & before.keys():
                sys.modules[name] = before[name]


def _names_in(root: str) -> set[str]:
    names = set()
    for entry in os.listdir(root):
        stem, suffix = os.path.splitext(entry)
        is_package = os.path.isfile(os.path.join(root, entry, "__init__.py"))
        if suffix == ".py" or is_package:
            names.add(entry if is_package else stem)
    return names - {"determined"}


def _is_below(file: str, root: str) -> bool:
    return os.path.realpath(file).startswith(root + os.sep)
