"""Which routes code in a task may call with its user's token (`DET_USER_TOKEN`), and why.

Code in a task may be written by somebody else than its user: an image, a package, a fork. Its
token allows the use of the SDK, the command line and the harness there, and nothing that outlives
the task for others: no accounts, tokens, roles, policies, templates, webhooks or settings. A route
without a declaration is closed to it.

    @route("GET", "/api/v1/projects/{id}", access=on("project", "id"), in_task=READS)
"""

from __future__ import annotations

from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import PermissionDenied

READS = "the SDK and `det` read what the user may see"
WORKS = "scripts start, control and end the user's experiments and tasks"
REPORTS = "the harness and detached runs report results"
MODELS = "training scripts register models and manage checkpoints"
PLACES = "the SDK creates and arranges projects and workspaces"
IDENTIFIES = "the SDK asks for the user of its token, and returns the token"
REACHES = "scripts connect to services of the user's tasks"

USES = (READS, WORKS, REPORTS, MODELS, PLACES, IDENTIFIES, REACHES)
"""All reasons; a route gives one of them."""


def is_closed(in_task: str, caller: Caller) -> bool:
    """Whether a route with this declaration is closed to the caller: code in a task."""
    return caller.is_task_session and not in_task


def check_task_use(in_task: str, caller: Caller, method: str, path: str) -> None:
    """Check that the caller is no code in a task, or the route is declared for it.

    Raises:
        PermissionDenied: otherwise.
    """
    if is_closed(in_task, caller):
        raise PermissionDenied(
            f"code in a task may not call {method} {path} with its user's token: log in outside "
            "of the task to do that"
        )
