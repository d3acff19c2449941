"""`det version`: the client's version and the master's."""

from __future__ import annotations

import argparse

from determined.__version__ import __version__
from determined.cli import connect, declare
from determined.cli.output import show
from determined.common.api import errors

NOUN = declare.Command(
    "version",
    "show version information",
    run="determined.cli.version:run",
    args=(declare.flag("--json", help="print as JSON"),),
)


def run(args: argparse.Namespace) -> None:
    """Print both versions. The version of an unreachable master is empty, and a hint follows."""
    master = {"cluster_id": "", "master_id": "", "version": ""}
    hint = ""
    try:
        master = connect.anonymous(args).get("/info").json()
    except (errors.MasterNotFoundException, errors.WebPageException) as error:
        hint = str(error)
    address = connect.address_of(args)
    versions = {"client": {"version": __version__}, "master": master, "master_address": address}
    if args.json:
        show.as_json(versions)
    else:
        show.as_yaml(versions)
    if hint:
        declare.warn(hint)
