"""Routes of commands."""

from __future__ import annotations

from determined_master.api.tasks.interactive_routes import InteractiveTaskKind, routes_of_kind
from determined_wire.rest.types.command import Command

(
    launch_command,
    get_commands,
    get_command,
    kill_command,
    set_command_priority,
) = routes_of_kind(
    InteractiveTaskKind(
        kind="COMMAND",
        word="command",
        message=Command,
        starts="Start a program on its own: it runs once.",
    )
)
