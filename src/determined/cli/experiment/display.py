"""`det experiment`: the commands that print experiments, trials and checkpoints."""

from __future__ import annotations

import argparse
import base64
import pathlib
from typing import Any, Dict, List, Sequence

from determined.cli import connect, errors, pagination
from determined.cli.experiment import tables
from determined.cli.output import full_json, show
from determined.cli.trial import story
from determined.common.api import BaseSession, Session

_LIST_HEADERS = (
    "ID",
    "Owner",
    "Name",
    "Parent ID",
    "State",
    "Progress",
    "Started",
    "Ended",
    "Resource Pool",
)
_TRIAL_HEADERS = (
    "Trial ID",
    "State",
    "H-Params",
    "Started",
    "Ended",
    "# of Batches",
    "Searcher Metric",
    "Restarts",
)
_CHECKPOINT_HEADERS = (
    "Trial ID",
    "# of Batches",
    "State",
    "Validation Metric",
    "UUID",
    "Resources",
    "Size",
)


def list_experiments(args: argparse.Namespace) -> None:
    """Print the user's own experiments that are not archived, or all experiments."""
    session = connect.session(args)
    params: Dict[str, Any] = {"limit": args.limit, "offset": args.offset}
    if not args.all:
        params.update(archived=False, users=[own_name(session)])
    experiments = pagination.fetch(
        session, "/api/v1/experiments", "experiments", params, args.pages
    )
    if args.json:
        show.as_json(experiments)
        return
    table(experiments, with_archived=args.all, with_project=args.show_project, as_csv=args.csv)


def table(
    experiments: Sequence[Dict[str, Any]],
    *,
    with_archived: bool,
    with_project: bool = False,
    as_csv: bool = False,
) -> None:
    """Print experiments, one per row."""
    headers: List[str] = list(_LIST_HEADERS)
    if with_project:
        headers = ["Workspace", "Project", *headers]
    if with_archived:
        headers.append("Archived")
    rows = [_list_row(_with_mark(e, as_csv), with_archived, with_project) for e in experiments]
    show.table(headers, rows, as_csv=as_csv)


def own_name(session: Session) -> str:
    """The name of the session's user."""
    return session.username or str(session.get("/api/v1/me").json()["user"]["username"])


def list_trials(args: argparse.Namespace) -> None:
    path = f"/api/v1/experiments/{args.experiment_id}/trials"
    session = connect.session(args)
    if args.best:
        trials = _best_trials(
            session, args.experiment_id, pagination.fetch(session, path, "trials", {})
        )
        trials = trials[args.offset :][: args.limit]
    else:
        params = {"limit": args.limit, "offset": args.offset}
        trials = pagination.fetch(session, path, "trials", params, args.pages)
    if args.json:
        show.as_json(trials)
        return
    rows = [
        [
            trial["id"],
            show.state(trial["state"]),
            show.block(trial["hparams"]),
            show.instant(trial["startTime"]),
            show.instant(trial["endTime"]),
            trial["totalBatchesProcessed"],
            trial.get("searcherMetricValue"),
            trial.get("restarts"),
        ]
        for trial in trials
    ]
    show.table(_TRIAL_HEADERS, rows, as_csv=args.csv)


def list_checkpoints(args: argparse.Namespace) -> None:
    """Print the checkpoints of an experiment in order of report time, or the best N."""
    session = connect.session(args)
    path = f"/api/v1/experiments/{args.experiment_id}/checkpoints"
    params = {"sortByAttr": "SORT_BY_END_TIME"}
    checkpoints = pagination.fetch(session, path, "checkpoints", params)
    if args.best is not None:
        checkpoints = _best(session, args.experiment_id, checkpoints, args.best)
    if args.json:
        show.as_json(checkpoints)
        return
    show.table(_CHECKPOINT_HEADERS, [_checkpoint_row(c) for c in checkpoints], as_csv=args.csv)


def config(args: argparse.Namespace) -> None:
    """Print the merged configuration as YAML."""
    show.as_yaml(_get(connect.session(args), args.experiment_id)["config"])


def download_model_def(args: argparse.Namespace) -> None:
    """Write the model definition of the experiment as a tar.gz file."""
    path = f"/api/v1/experiments/{args.experiment_id}/model_def"
    text = connect.session(args).get(path).json()["b64Tgz"]
    if not text:
        raise errors.CliError(f"experiment {args.experiment_id} has no model definition")
    folder = pathlib.Path(args.output_dir)
    folder.mkdir(parents=True, exist_ok=True)
    target = folder / f"experiment_{args.experiment_id}_model_def.tgz"
    target.write_bytes(base64.b64decode(text))
    print(f"Wrote {target}")


def describe(args: argparse.Namespace) -> None:
    """Print experiments with their trials and workloads.

    Raises:
        CliError: an ID is not a number.
    """
    session = connect.session(args)
    ids = _ids(args.experiment_ids)
    answers = [_get(session, number) for number in ids]
    if args.json:
        show.as_json(full_json.completed("GetExperimentResponse", answers))
        return
    trials = [
        trial
        for number in ids
        for trial in pagination.fetch(
            session, f"/api/v1/experiments/{number}/trials", "trials", {}
        )
    ]
    workloads = {trial["id"]: tables.fetch_workloads(session, trial) for trial in trials}
    described = (
        tables.experiments([answer["experiment"] for answer in answers]),
        tables.trials(trials),
        tables.workloads(workloads, args.metrics),
    )
    tables.output(described, args.csv, args.outdir)
    if not args.csv and not args.outdir:
        for number, answer in zip(ids, answers):
            _print_reason(session, number, show.state(answer["experiment"]["state"]))


def _print_reason(session: BaseSession, number: int, state: str) -> None:
    reason = story.reason_of(session, "experiments", number)
    if reason:
        print(f"\nExperiment {number} is {state}: {reason}")


def _get(session: BaseSession, number: int) -> Dict[str, Any]:
    body: Dict[str, Any] = session.get(f"/api/v1/experiments/{number}").json()
    return body


def _ids(text: str) -> Sequence[int]:
    try:
        return [int(word) for word in text.split(",")]
    except ValueError:
        raise errors.CliError(
            f"experiment IDs must be numbers separated by commas, not {text!r}"
        ) from None


def _with_mark(experiment: Dict[str, Any], as_csv: bool) -> Dict[str, Any]:
    """Mark an unmanaged experiment in its name, except in CSV, which scripts read."""
    if as_csv or not experiment.get("unmanaged"):
        return experiment
    return {**experiment, "name": experiment["name"] + " (unmanaged)"}


def _list_row(experiment: Dict[str, Any], with_archived: bool, with_project: bool) -> List[Any]:
    row = [
        experiment["id"],
        experiment["username"],
        experiment["name"],
        experiment["forkedFrom"],
        show.state(experiment["state"]),
        show.percent(experiment["progress"]),
        show.instant(experiment["startTime"]),
        show.instant(experiment["endTime"]),
        experiment["resourcePool"],
    ]
    if with_project:
        row = [experiment["workspaceName"], experiment["projectName"], *row]
    return row + ([experiment["archived"]] if with_archived else [])


def _best(
    session: BaseSession, number: int, checkpoints: List[Dict[str, Any]], count: int
) -> List[Dict[str, Any]]:
    sign = _sign(session, number)
    scored = [c for c in checkpoints if _metric(c) is not None]
    return sorted(scored, key=lambda c: sign * float(c["training"]["searcherMetric"]))[:count]


def _best_trials(
    session: BaseSession, number: int, trials: List[Dict[str, Any]]
) -> List[Dict[str, Any]]:
    """Trials by the searcher's metric, the best first; those without one last."""
    sign = _sign(session, number)

    def key(trial: Dict[str, Any]) -> Any:
        value = trial.get("searcherMetricValue")
        return (value is None, sign * float(value or 0), trial["id"])

    return sorted(trials, key=key)


def _sign(session: BaseSession, number: int) -> float:
    """1 when smaller metrics are better, else -1."""
    searcher = _get(session, number)["config"]["searcher"]
    return 1.0 if searcher.get("smaller_is_better", True) else -1.0


def _metric(checkpoint: Dict[str, Any]) -> Any:
    return (checkpoint.get("training") or {}).get("searcherMetric")


def _checkpoint_row(checkpoint: Dict[str, Any]) -> List[Any]:
    resources = checkpoint.get("resources") or {}
    return [
        (checkpoint.get("training") or {}).get("trialId"),
        (checkpoint.get("metadata") or {}).get("steps_completed"),
        show.state(checkpoint["state"]),
        _metric(checkpoint),
        checkpoint["uuid"],
        "\n".join(sorted(resources)),
        show.size(sum(int(size) for size in resources.values())),
    ]
