"""Tables of the clouds' rules, by which the master starts machines.

They lie with the master and are read as files: this code runs with older releases of Python than
the master's own.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import pathlib
from typing import Any, Dict

from determined.cli import errors

_PLACE = "domain/machines/types"


@functools.cache
def read(name: str) -> Dict[str, Any]:
    """A table, such as `gcp_series`.

    Raises:
        CliError: the master is not installed here.
    """
    spec = importlib.util.find_spec("determined_master")
    if spec is None or not spec.submodule_search_locations:
        raise errors.CliError(
            "the master is not installed here, and up deploys the installed one: pip install "
            "'determined-platform[aws]' or 'determined-platform[gcp]'"
        )
    package = pathlib.Path(next(iter(spec.submodule_search_locations)))
    content = (package / _PLACE / f"{name}.json").read_text(encoding="utf-8")
    table: Dict[str, Any] = json.loads(content)
    return table
