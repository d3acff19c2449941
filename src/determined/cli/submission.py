"""The files that go with what is launched: read with words about how far that is."""

from __future__ import annotations

import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from determined.cli import declare, errors
from determined.cli.declare import Arg, arg
from determined.cli.output import show
from determined.common import context

WORTH_TELLING_BYTES = 1 << 20
"""Below that, nobody waits."""
_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the cluster has now; "
    "the {} waits until agents with enough of them have joined",
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
    """A directory and included files as the master takes them.

    Raises:
        CliError: something cannot be sent; names it and the remedy.
    """
    try:
        return context.read(root, includes, progress=_Progress())
    except context.ContextError as error:
        raise errors.CliError(str(error)) from None


def print_warnings(answer: Mapping[str, Any], launched: str) -> None:
    """Print the warnings of a launch's answer.

    Args:
        answer: with `warnings`, names of them.
        launched: what was launched, such as `experiment`.
    """
    for warning in answer.get("warnings") or ():
        declare.warn(f"Warning: {_WARNINGS.get(warning, warning).format(launched)}")


class _Progress:
    """Tells how much was read, once it is enough to be waited for."""

    def __init__(self) -> None:
        self._told_bytes = 0

    def __call__(self, read_bytes: int, items: int) -> None:
        if read_bytes - self._told_bytes >= WORTH_TELLING_BYTES:
            self._told_bytes = read_bytes
            text = f"Preparing files to send to master... {show.size(read_bytes)}, {items} files"
            print(text, file=sys.stderr, flush=True)
