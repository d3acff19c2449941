"""What `.detignore` leaves out of the context directory."""

from __future__ import annotations

import os
import pathlib
from typing import Any, Callable, Iterable, List, Set

from determined.common import context


def make_shutil_ignore(root_path: pathlib.Path) -> Callable[[str, List[str]], Set[str]]:
    """The argument `ignore` of `shutil.copytree(root_path, ...)`."""
    sent = {root_path / item["path"] for item in context.read(root_path)}

    def ignore(path: str, names: List[str]) -> Set[str]:
        return {name for name in names if pathlib.Path(path, name) not in sent}

    return ignore


def os_walk_to_v1Files(root_path: pathlib.Path, entry_prefix: pathlib.Path) -> Iterable[Any]:
    """A `v1File` for each file and directory that is sent, below the prefix."""
    from determined.common.api import bindings

    for item in context.read(root_path):
        path = os.path.join(entry_prefix, item["path"])
        yield bindings.v1File.from_json({**item, "path": pathlib.Path(path).as_posix()})
