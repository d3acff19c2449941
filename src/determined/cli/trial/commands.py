"""`det trial`: describe, download, kill and explain a trial."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List

from determined.cli import connect, log_stream, pagination
from determined.cli.checkpoint import transfers
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.experiment import log_retention
from determined.cli.experiment.fork import FORK_OPTIONS
from determined.cli.output import full_json, show
from determined.cli.trial import story

_HERE = "determined.cli.trial.commands"
_ID = arg("trial_id", type=int, help="trial ID")

NOUN = Command(
    "trial|t",
    "manage trials",
    commands=(
        Command(
            "describe",
            "describe trial",
            f"{_HERE}:describe",
            (
                _ID,
                flag("--metrics-summary", help="display summary of metrics"),
                flag("--metrics", help="display full metrics, such as batch metrics"),
                OneOf(
                    (
                        flag("--csv", help="Output in CSV format"),
                        flag("--json", help="Output in JSON format"),
                    )
                ),
                *pagination.arguments(1000),
            ),
        ),
        Command(
            "download",
            "download checkpoint for trial",
            "determined.cli.checkpoint.commands:download_of_trial",
            (
                _ID,
                OneOf(
                    (
                        flag("--best", help="the checkpoint with the best validation metric"),
                        flag("--latest", help="the most recent checkpoint"),
                        arg("--uuid", help="the checkpoint with this uuid"),
                    )
                ),
                arg("-o", "--output-dir", help="Desired output directory for the checkpoint."),
                arg("--sort-by", help="the validation metric to choose --best by"),
                arg("--smaller-is-better", help="whether a smaller --sort-by metric is better"),
                flag("-q", "--quiet", help="Only print the path to the checkpoint."),
                transfers.NO_VERIFY,
            ),
        ),
        Command(
            "fork",
            "create an experiment of one trial from the latest checkpoint of a trial",
            "determined.cli.experiment.fork:fork_trial",
            (_ID, *FORK_OPTIONS),
        ),
        Command("kill", "forcibly terminate a trial", f"{_HERE}:kill", (_ID,)),
        Command("logs", "fetch trial logs", f"{_HERE}:logs", (_ID, *log_stream.arguments())),
        Command(
            "set",
            "set trial attributes",
            commands=(
                Command(
                    "log-retention",
                    "set log retention days of trial",
                    f"{_HERE}:set_log_retention",
                    (_ID, log_retention.OPTIONS),
                ),
            ),
        ),
        Command(
            "support-bundle",
            "write the data that explains a trial into one file",
            "determined.cli.trial.support_bundle:write",
            (
                _ID,
                arg(
                    "-o",
                    "--output-dir",
                    help="directory of the file (default: the current directory)",
                ),
            ),
        ),
        Command(
            "story",
            "show the story of a trial",
            f"{_HERE}:print_story",
            (_ID, *story.arguments()),
        ),
    ),
)


def describe(args: argparse.Namespace) -> None:
    session = connect.session(args)
    trial = session.get(f"/api/v1/trials/{args.trial_id}").json()["trial"]
    params = {
        "limit": args.limit,
        "offset": args.offset,
        "includeBatchMetrics": args.metrics,
    }
    path = f"/api/v1/trials/{args.trial_id}/workloads"
    workloads = pagination.fetch(session, path, "workloads", params, args.pages)
    if args.json:
        document = full_json.completed("GetTrialResponse", {"trial": trial})
        document["workloads"] = full_json.completed("WorkloadContainer", workloads)
        show.as_json(document)
        return
    headers = ["Experiment ID", "State", "H-Params", "Summary Metrics", "Started", "Ended"]
    show.table(headers, [_row(trial)], as_csv=args.csv)
    print("\nWorkloads:")
    headers = ["# of Batches", "Report Time", "Checkpoint", "Checkpoint UUID"]
    headers += ["Checkpoint Metadata", "Validation Metrics"]
    headers += ["Workload Metrics"] if args.metrics else []
    rows = [_workload_row(w, args.metrics) for w in workloads]
    show.table(headers, rows, as_csv=args.csv)
    if args.metrics_summary:
        show.as_json(trial["summaryMetrics"])
    state = show.state(trial["state"])
    reason = "" if args.csv else story.reason_of(session, "trials", args.trial_id)
    if reason:
        print(f"\nTrial {args.trial_id} is {state}: {reason}")


def kill(args: argparse.Namespace) -> None:
    """Stop a trial immediately, or say that it had ended."""
    session, path = connect.session(args), f"/api/v1/trials/{args.trial_id}"
    state = session.get(path).json()["trial"]["state"]
    session.post(f"{path}/kill")
    show.print_stop(f"trial {args.trial_id}", "Killed", state)


def set_log_retention(args: argparse.Namespace) -> None:
    days = log_retention.days(args)
    body = {"trialId": args.trial_id, "numDays": days}
    connect.session(args).put(f"/api/v1/trials/{args.trial_id}/retain_logs", json=body)
    print(f"Logs of trial {args.trial_id} are kept {log_retention.said(days)}")


def logs(args: argparse.Namespace) -> None:
    log_stream.print_trial(connect.session(args), args.trial_id, args)


def print_story(args: argparse.Namespace) -> None:
    """Print the events of the trial with their times and causes."""
    story.print_story(connect.session(args), "trials", args.trial_id, args)


def _row(trial: Dict[str, Any]) -> List[Any]:
    return [
        trial["experimentId"],
        show.state(trial["state"]),
        show.block(trial["hparams"]),
        show.block(trial["summaryMetrics"]),
        show.instant(trial["startTime"]),
        show.instant(trial["endTime"]),
    ]


def _workload_row(workload: Dict[str, Any], with_metrics: bool) -> List[Any]:
    checkpoint, validation = workload.get("checkpoint"), workload.get("validation")
    metrics = (workload.get("training") or validation or {}).get("metrics")
    part = checkpoint or validation or workload["training"]
    row = [
        part["totalBatches"],
        show.instant(part["endTime"]),
        show.state(checkpoint["state"]) if checkpoint else "",
        checkpoint["uuid"] if checkpoint else "",
        show.block(checkpoint["metadata"]) if checkpoint else "",
        show.block(metrics) if validation and not with_metrics else "",
    ]
    return row + ([show.block(metrics) if metrics else ""] if with_metrics else [])
