"""`det notebook`: JupyterLab on the cluster."""

from __future__ import annotations

import argparse

from determined.cli import interactive, interactive_launch, interactive_page, publish, show
from determined.cli.declare import Command, flag

_PAGE = "determined.cli.interactive_page"
_KIND = interactive.NOTEBOOK

NOUN = Command(
    "notebook",
    "manage notebooks",
    commands=(
        *interactive.shared_commands(_KIND),
        Command("open", "open notebook", f"{_PAGE}:open_one", (interactive.id_argument(_KIND),)),
        Command(
            "start",
            "start notebook",
            "determined.cli.notebook:start",
            (
                *interactive.launch_arguments(_KIND),
                publish.argument("the notebook"),
                interactive_page.no_browser_argument(),
                interactive.detach_argument(),
                flag("--preview", help="print the config that it would have, and start nothing"),
            ),
        ),
    ),
)


def start(args: argparse.Namespace) -> None:
    """Start a notebook and open it in a browser when it is ready; stay for published ports."""
    if args.preview:
        _, answer = interactive_launch.launch(args, more={"preview": True})
        show.as_yaml(answer["config"])
    else:
        interactive_page.start(args, {"preview": False})
