"""Files of a context directory as messages of the REST API."""

from __future__ import annotations

import base64
import pathlib
from typing import Any, Dict

from determined.common import context
from determined.common.api import bindings


def v1File_size(f: Any) -> int:
    """The number of bytes of its content."""
    return len(base64.b64decode(f.content or ""))


def v1File_to_dict(f: Any) -> Dict[str, Any]:
    """The file as an item of `modelDefinition`."""
    item: Dict[str, Any] = f.to_json(True)
    item["mtime"] = int(item["mtime"])
    return item


def v1File_from_local_file(archive_path: str, path: pathlib.Path) -> Any:
    """The file with its content, under another path."""
    return bindings.v1File.from_json(context.item(archive_path, path))


def v1File_from_local_dir(archive_path: str, path: pathlib.Path) -> Any:
    """The directory itself, without what is in it."""
    return bindings.v1File.from_json(context.item(archive_path, path))
