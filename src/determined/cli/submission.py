"""Submitting a task: its files, with progress, and the warnings in the master's answer."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from determined.cli import declare, errors
from determined.cli.declare import Arg, arg
from determined.cli.output import show
from determined.common import context

PROGRESS_STEP_BYTES = 1 << 20
"""Smaller uploads show no progress."""
_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "it requests more slots than the cluster has now; "
    "the {} waits until enough agents join",
}


def arguments() -> Tuple[Arg, Arg]:
    """The options `--context` and `--include` of interactive tasks."""
    limit = f"together at most {context.LIMIT_BYTES >> 20} MB"
    return (
        arg(
            "-c",
            "--context",
            help=f"directory whose contents the task starts in; {limit}",
        ),
        arg(
            "-i",
            "--include",
            action="append",
            default=[],
            help="file or directory to copy into the task under its own name; repeat for several",
        ),
    )


def files(root: Optional[str], includes: Sequence[str]) -> List[Dict[str, Any]]:
    """The files of a directory and the included files, in the form of the REST API.

    Raises:
        CliError: a file cannot be sent; the text names it and the remedy.
    """
    try:
        return context.read(root, includes, progress=_Progress())
    except context.ContextError as error:
        raise errors.CliError(str(error)) from None


def print_warnings(answer: Mapping[str, Any], launched: str) -> None:
    """Print the warnings in the answer to a launch request.

    Args:
        answer: holds the names of warnings in `warnings`.
        launched: the launched thing, such as `experiment`.
    """
    for warning in answer.get("warnings") or ():
        declare.warn(f"Warning: {_WARNINGS.get(warning, warning).format(launched)}")


class _Progress:
    """Reports on stderr how much was read, once per `PROGRESS_STEP_BYTES`."""

    def __init__(self) -> None:
        self._reported_bytes = 0

    def __call__(self, read_bytes: int, items: int) -> None:
        if read_bytes - self._reported_bytes >= PROGRESS_STEP_BYTES:
            self._reported_bytes = read_bytes
            text = f"Preparing files to send to master... {show.size(read_bytes)}, {items} files"
            print(text, file=sys.stderr, flush=True)
