"""`det experiment`: the commands that change an existing experiment."""

from __future__ import annotations

import argparse
from typing import Any

from determined.cli import connect
from determined.cli.arguments import YES, confirm
from determined.cli.declare import Command, arg, flag
from determined.cli.experiment import log_retention
from determined.cli.workspace import lookup
from determined.common.api import BaseSession

_HERE = "determined.cli.experiment.change"
_ID = arg("experiment_id", type=int, help="experiment ID")
_CONFIG_HELP = "Additional configuration arguments, as `key=value`"


def _save(name: str, of: str) -> Any:
    help_text = f"number of best checkpoints {of} to save"
    if name.endswith("latest"):
        help_text = f"number of latest checkpoints {of} to save"
    return arg(f"--{name}", type=int, required=True, help=help_text)


def _set(name: str, of: str, *args: Any) -> Command:
    return Command(name, of, f"{_HERE}:set_{name.replace('-', '_')}", (_ID, *args))


COMMANDS = (
    Command(
        "continue",
        "continue or recover experiment",
        "determined.cli.experiment.create:continue_experiment",
        (
            _ID,
            arg("--config-file", help="experiment config file (.yaml) with the changed settings"),
            arg("--config", action="append", default=[], help=_CONFIG_HELP),
            flag("-f", "--follow-first-trial", help="follow the logs of the first trial"),
        ),
    ),
    Command("delete", "delete experiment", f"{_HERE}:delete", (_ID, YES)),
    Command(
        "delete-tb-files",
        "delete TensorBoard files of experiment",
        f"{_HERE}:delete_tb_files",
        (_ID,),
    ),
    Command(
        "label",
        "manage experiment labels",
        commands=(
            Command("add", "add label", f"{_HERE}:add_label", (_ID, arg("label", help="label"))),
            Command(
                "remove",
                "remove label",
                f"{_HERE}:remove_label",
                (_ID, arg("label", help="label")),
            ),
        ),
    ),
    Command(
        "move",
        "move experiment to another project",
        f"{_HERE}:move",
        (
            _ID,
            arg("workspace_name", help="name of the workspace of that project"),
            arg("project_name", help="name of the project to move to"),
        ),
    ),
    Command(
        "set",
        "set experiment attributes",
        commands=(
            _set("description", "set experiment description", arg("description")),
            _set(
                "gc-policy",
                "set experiment GC policy and run GC",
                _save("save-experiment-best", "over the experiment"),
                _save("save-trial-best", "of each trial"),
                _save("save-trial-latest", "of each trial"),
                YES,
            ),
            _set(
                "log-retention",
                "set log retention days of experiment",
                log_retention.OPTIONS,
            ),
            _set("max-slots", "set `max_slots` of experiment", arg("max_slots", type=int)),
            _set("name", "set experiment name", arg("name")),
            _set("priority", "set `priority` of experiment", arg("priority", type=int)),
            _set("weight", "set `weight` of experiment", arg("weight", type=float)),
        ),
    ),
)


def delete(args: argparse.Namespace) -> None:
    """Delete an experiment with its results, logs and checkpoints."""
    number = args.experiment_id
    confirm(
        args,
        f"Deleting experiment {number} deletes its results, logs and checkpoints for good. "
        "Do you still want to proceed?",
    )
    connect.session(args).delete(_path(number))
    print(f"Delete of experiment {number} is in progress")
    print(f"(det experiment story {number} shows its progress)")


def delete_tb_files(args: argparse.Namespace) -> None:
    """Delete the TensorBoard files of an ended experiment."""
    number = args.experiment_id
    connect.session(args).delete(f"{_path(number)}/tensorboard-files")
    print(f"Deleted the TensorBoard files of experiment {number}")


def move(args: argparse.Namespace) -> None:
    session = connect.session(args)
    target = lookup.project(session, args.workspace_name, args.project_name)
    number = args.experiment_id
    body = {"experimentId": number, "destinationProjectId": target["id"]}
    session.post(f"{_path(number)}/move", json=body)
    print(
        f"Moved experiment {number} to project '{target['name']}' "
        f"in workspace '{args.workspace_name}'"
    )


def add_label(args: argparse.Namespace) -> None:
    session = connect.session(args)
    labels = _labels(session, args.experiment_id)
    if args.label not in labels:
        _patch(session, args, labels=[*labels, args.label])
    print(f"Added label '{args.label}' to experiment {args.experiment_id}")


def remove_label(args: argparse.Namespace) -> None:
    session = connect.session(args)
    labels = _labels(session, args.experiment_id)
    if args.label in labels:
        _patch(session, args, labels=[label for label in labels if label != args.label])
    print(f"Removed label '{args.label}' from experiment {args.experiment_id}")


def set_name(args: argparse.Namespace) -> None:
    _patch(connect.session(args), args, name=args.name)
    print(f"Set name of experiment {args.experiment_id} to '{args.name}'")


def set_description(args: argparse.Namespace) -> None:
    _patch(connect.session(args), args, description=args.description)
    print(f"Set description of experiment {args.experiment_id} to '{args.description}'")


def set_priority(args: argparse.Namespace) -> None:
    """Change the queue priority of an experiment."""
    _set_resource(args, "priority", args.priority)


def set_weight(args: argparse.Namespace) -> None:
    """Change an experiment's share of its pool."""
    _set_resource(args, "weight", args.weight)


def set_max_slots(args: argparse.Namespace) -> None:
    """Limit the total slots of all trials of an experiment."""
    _set_resource(args, "max_slots", args.max_slots)


def set_gc_policy(args: argparse.Namespace) -> None:
    """Change the GC policy. For an ended experiment this also deletes checkpoints."""
    number = args.experiment_id
    session = connect.session(args)
    policy = {
        "save_experiment_best": args.save_experiment_best,
        "save_trial_best": args.save_trial_best,
        "save_trial_latest": args.save_trial_latest,
    }
    if not args.yes:
        preview = session.get(f"/experiments/{number}/preview_gc", params=policy).json()
        count = len(preview["checkpoints"] or ())
        confirm(
            args,
            f"{count} checkpoint(s) of experiment {number} would be deleted. "
            "Do you still want to proceed?",
        )
    _patch(session, args, checkpointStorage=policy)
    print(f"Set GC policy of experiment {number}")


def set_log_retention(args: argparse.Namespace) -> None:
    days = log_retention.days(args)
    number = args.experiment_id
    body = {"experimentId": number, "numDays": days}
    connect.session(args).put(f"{_path(number)}/retain_logs", json=body)
    print(f"Logs of experiment {number} are kept {log_retention.said(days)}")


def _path(number: int) -> str:
    return f"/api/v1/experiments/{number}"


def _patch(session: BaseSession, args: argparse.Namespace, **changes: Any) -> None:
    session.patch(_path(args.experiment_id), json={"id": args.experiment_id, **changes})


def _set_resource(args: argparse.Namespace, name: str, value: Any) -> None:
    _patch(connect.session(args), args, resources={name: value})
    print(f"Set `{name}` of experiment {args.experiment_id} to {value}")


def _labels(session: BaseSession, number: int) -> Any:
    return session.get(_path(number)).json()["experiment"]["labels"]
