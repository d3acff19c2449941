"""`det notebook`: starts and opens JupyterLab on the cluster."""

from __future__ import annotations

import argparse

from determined.cli import publish
from determined.cli.declare import Command, flag
from determined.cli.interactive import browser, kinds, launch, share
from determined.cli.output import show

_PAGE = "determined.cli.interactive.browser"
_KIND = kinds.NOTEBOOK

NOUN = Command(
    "notebook",
    "manage notebooks",
    commands=(
        *kinds.shared_commands(_KIND),
        share.command(_KIND),
        Command("open", "open notebook", f"{_PAGE}:open_one", (kinds.id_argument(_KIND),)),
        Command(
            "start",
            "start notebook",
            "determined.cli.interactive.notebook:start",
            (
                *kinds.launch_arguments(_KIND),
                publish.argument("the notebook"),
                browser.no_browser_argument(),
                kinds.detach_argument(),
                flag("--preview", help="print the resulting config, but start nothing"),
            ),
        ),
    ),
)


def start(args: argparse.Namespace) -> None:
    """Start a notebook and open it when it is ready; keep running while ports are published."""
    if args.preview:
        _, answer = launch.launch(args, more={"preview": True})
        show.as_yaml(answer["config"])
    else:
        browser.start(args, {"preview": False})
