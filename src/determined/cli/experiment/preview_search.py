"""`det preview-search`: simulates a search without starting it."""

from __future__ import annotations

import argparse
from typing import Any

from determined.cli import connect, declare
from determined.cli.config import config_file
from determined.cli.output import show
from determined.common import submit

NOUN = declare.Command(
    "preview-search",
    "preview search",
    "determined.cli.experiment.preview_search:run",
    (declare.arg("config_file", help="experiment config file (.yaml)"),),
)


def run(args: argparse.Namespace) -> None:
    """Print the number of trials of the search and their training lengths."""
    body = {"config": config_file.load(args.config_file)}
    response = connect.session(args).post("/api/v1/preview-hp-search", json=body)
    for warning in submit.config_warnings(response.headers):
        declare.warn(f"Warning: {warning}")
    summary = response.json()["summary"]
    print("Using search configuration:")
    show.as_yaml(summary["config"])
    print()
    print("This search will create a total of", _total(summary["trials"]), "trial(s).")
    rows = [(item["count"], _length(item["unit"] or {})) for item in summary["trials"]]
    show.table(("Trials", "Training Time"), rows)


def _total(trials: Any) -> int:
    return sum(item["count"] for item in trials)


def _length(unit: Any) -> str:
    if unit.get("maxLength") or unit.get("value") is None:
        return "train to completion"
    return f"train for {unit['value']} {unit['name']}"
