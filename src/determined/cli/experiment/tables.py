"""The tables of `describe`: experiments, trials and workloads."""

from __future__ import annotations

import contextlib
import io
import pathlib
import sys
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence

from determined.cli import pagination
from determined.cli.output import show
from determined.common.api import BaseSession

SCREEN_ROWS = 15
"""Rows of a table on a terminal, so that a description fits on a screen."""


class Table(NamedTuple):
    """A titled table; `file` is its name under `--outdir`."""

    title: str
    file: str
    headers: Sequence[str]
    rows: List[List[Any]]


def fetch_workloads(session: BaseSession, trial: Dict[str, Any]) -> List[Dict[str, Any]]:
    """All workloads of a trial in order of their steps."""
    path = f"/api/v1/trials/{trial['id']}/workloads"
    return pagination.fetch(session, path, "workloads", {"limit": 500})


def experiments(entries: Iterable[Dict[str, Any]]) -> Table:
    headers = (
        "Experiment ID",
        "State",
        "Progress",
        "Started",
        "Ended",
        "Name",
        "Description",
        "Archived",
        "Resource Pool",
        "Labels",
    )
    rows = [
        [
            e["id"],
            show.state(e["state"]),
            show.percent(e["progress"]),
            show.instant(e["startTime"]),
            show.instant(e["endTime"]),
            e["name"],
            e["description"],
            e["archived"],
            e["resourcePool"],
            ", ".join(sorted(e["labels"] or ())),
        ]
        for e in entries
    ]
    return Table("Experiment", "experiments", headers, rows)


def trials(entries: Iterable[Dict[str, Any]]) -> Table:
    headers = ("Trial ID", "Experiment ID", "State", "Started", "Ended", "H-Params")
    rows = [
        [
            t["id"],
            t["experimentId"],
            show.state(t["state"]),
            show.instant(t["startTime"]),
            show.instant(t["endTime"]),
            show.block(t["hparams"]),
        ]
        for t in entries
    ]
    return Table("Trials", "trials", headers, rows)


def workloads(by_trial: Dict[int, List[Dict[str, Any]]], with_metrics: bool) -> Table:
    """One row per trial and step, with its training, checkpoint and validation."""
    steps = {
        (trial_id, step): parts
        for trial_id, entries in by_trial.items()
        for step, parts in _by_step(entries).items()
    }
    training = _metric_names(steps.values(), "training") if with_metrics else []
    validation = _metric_names(steps.values(), "validation") if with_metrics else []
    headers = [
        "Trial ID",
        "# of Batches",
        "State",
        "Report Time",
        *(f"Training Metric: {name}" for name in training),
        "Checkpoint State",
        "Checkpoint Report Time",
        "Validation State",
        "Validation Report Time",
        *(f"Validation Metric: {name}" for name in validation),
    ]
    rows = []
    for (trial_id, step), parts in steps.items():
        checkpoint, validated = parts.get("checkpoint"), parts.get("validation")
        rows.append(
            [
                trial_id,
                step,
                "",
                max(map(_at, parts.values())),
                *_metrics(parts.get("training"), training),
                show.state(checkpoint["state"]) if checkpoint else "",
                _at(checkpoint),
                "COMPLETED" if validated else "",
                _at(validated),
                *_metrics(validated, validation),
            ]
        )
    return Table("Workloads", "workloads", headers, rows)


def output(tables: Sequence[Table], as_csv: bool, outdir: Optional[str]) -> None:
    """Print tables under their titles, or write each as a CSV file into a directory."""
    if outdir is None:
        for number, table in enumerate(tables):
            print(("\n" if number else "") + f"{table.title}:")
            is_cut = sys.stdout.isatty() and not as_csv and len(table.rows) > SCREEN_ROWS
            rows = table.rows[-SCREEN_ROWS:] if is_cut else table.rows
            show.table(table.headers, rows, as_csv=as_csv)
            if is_cut:
                print(f"(the last {SCREEN_ROWS} of {len(table.rows)} rows; --csv prints all)")
        return
    folder = pathlib.Path(outdir)
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        text = io.StringIO()
        with contextlib.redirect_stdout(text):
            show.table(table.headers, table.rows, as_csv=True)
        (folder / f"{table.file}.csv").write_bytes(text.getvalue().encode())


def _by_step(entries: Iterable[Dict[str, Any]]) -> Dict[int, Dict[str, Any]]:
    steps: Dict[int, Dict[str, Any]] = {}
    for workload in entries:
        for kind, part in workload.items():
            if part:
                steps.setdefault(part["totalBatches"], {})[kind] = part
    return {step: steps[step] for step in sorted(steps)}


def _metric_names(steps: Iterable[Dict[str, Any]], kind: str) -> List[str]:
    parts = (step[kind] for step in steps if kind in step)
    return sorted({name for part in parts for name in part["metrics"]["avgMetrics"]})


def _metrics(part: Optional[Dict[str, Any]], names: Sequence[str]) -> List[Any]:
    values = part["metrics"]["avgMetrics"] if part else {}
    return [values.get(name) for name in names]


def _at(part: Optional[Dict[str, Any]]) -> str:
    return show.instant(part["endTime"]) if part else ""
