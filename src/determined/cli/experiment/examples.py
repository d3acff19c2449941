"""Copies of the examples that a release has, for users without a checkout."""

from __future__ import annotations

import argparse
import os
import pathlib
import shutil
from typing import Dict

from determined.cli import errors
from determined.cli.declare import Command, arg
from determined.cli.output import show

_HERE = "determined.cli.experiment.examples"
_INSTALLED = pathlib.Path(__file__).parents[1] / "example_files"

COMMANDS = (
    Command("list-examples", "list the examples of this release", f"{_HERE}:list_examples"),
    Command(
        "copy-example",
        "copy an example, to edit and create it",
        f"{_HERE}:copy",
        (
            arg("name", help="name of the example"),
            arg("directory", nargs="?", help="new directory (default: the name, here)"),
        ),
    ),
)


def list_examples(args: argparse.Namespace) -> None:
    """Print the name and the title of each example."""
    examples = _examples()
    rows = [(name, _title(place)) for name, place in sorted(examples.items())]
    show.table(("Name", "Title"), rows)


def copy(args: argparse.Namespace) -> None:
    """Copy the files of an example into a new directory.

    Raises:
        CliError: there is no such example, or the directory exists.
    """
    examples = _examples()
    if args.name not in examples:
        raise errors.CliError(
            f"there is no example {args.name!r}: choose one of {', '.join(sorted(examples))}"
        )
    target = args.directory or args.name
    if os.path.lexists(target):
        raise errors.CliError(f"{target!r} exists: name another directory")
    shutil.copytree(examples[args.name], target, ignore=shutil.ignore_patterns("__pycache__"))
    configs = sorted(path.name for path in pathlib.Path(target).glob("*.yaml"))
    print(f"copied {args.name} to {target}; next:")
    print(f"  cd {target} && det experiment create -f {configs[-1]} .")


def _title(place: pathlib.Path) -> str:
    """The first line of its page."""
    (page,) = place.glob("*.md")
    return page.read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")


def _examples() -> Dict[str, pathlib.Path]:
    """Directories by name: of the installed package, or of the checkout that runs."""
    places = [_INSTALLED]
    places += [above / "examples" for above in _INSTALLED.parents]
    for place in places:
        if (place / "digits").is_dir():
            return {path.parent.name: path.parent for path in place.glob("*/*.md")}
    raise errors.CliError(
        f"the examples are not in {_INSTALLED}: install determined-platform again, or run the "
        "command of a checkout"
    )
