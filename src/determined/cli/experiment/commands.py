"""`det experiment`: declarations of its commands, and the simple state changes."""

from __future__ import annotations

import argparse
from typing import Callable, Optional

from determined.cli import connect, errors, log_stream, pagination, publish
from determined.cli.arguments import at_least, seconds
from determined.cli.checkpoint import transfers
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.experiment import change, examples
from determined.cli.experiment.fork import CONFIG_HELP, FORK_OPTIONS
from determined.cli.output import show
from determined.cli.trial import story
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors

_HERE = "determined.cli.experiment.commands"
_SHOW = "determined.cli.experiment.display"
_ID = arg("experiment_id", type=int, help="experiment ID")
_IDS = arg("experiment_id", type=int, nargs="+", help="experiment IDs")
_FORM = OneOf((flag("--csv", help="print as CSV"), flag("--json", help="print as JSON")))
_CREATE = Command(
    "create",
    "create experiment",
    "determined.cli.experiment.create:create",
    (
        arg("config_file", help="experiment config file (.yaml)"),
        arg("model_def", nargs="?", help="directory containing the model definition"),
        arg(
            "-i",
            "--include",
            action="append",
            default=[],
            help="additional files to copy into the task container",
        ),
        flag("--local", help="run the entrypoint on this machine, without a cluster"),
        arg("--template", help="name of template to apply to the experiment configuration"),
        arg("--project_id", type=int, help="place this experiment inside this project"),
        arg("--config", action="append", default=[], help=CONFIG_HELP),
        OneOf(
            (
                flag(
                    "-f",
                    "--follow-first-trial",
                    help="follow the logs of the first trial that is created",
                ),
                flag("--paused", help="do not activate the experiment"),
                flag("-t", "--test-mode", help="create a very small experiment to test with"),
            )
        ),
        publish.argument("the first trial"),
    ),
)

_SHOWING = (
    Command("config", "display experiment config", f"{_SHOW}:config", (_ID,)),
    Command(
        "describe",
        "describe experiment",
        f"{_SHOW}:describe",
        (
            arg("experiment_ids", help="comma-separated list of experiment IDs to describe"),
            flag("--metrics", help="display full metrics"),
            OneOf(
                (
                    flag("--csv", help="Output in CSV format"),
                    flag("--json", help="Output in JSON format"),
                    arg("--outdir", help="directory to save output"),
                )
            ),
        ),
    ),
    Command(
        "download",
        "download checkpoints of experiment",
        "determined.cli.experiment.download:download",
        (
            _ID,
            arg(
                "-o",
                "--output-dir",
                default="checkpoints",
                help="directory that receives one directory for each checkpoint",
            ),
            arg("--top-n", type=int, default=1, metavar="N", help="the best N checkpoints"),
            arg(
                "--sort-by", help="validation metric to choose by (default: that of the searcher)"
            ),
            arg("--smaller-is-better", help="whether a smaller --sort-by metric is better"),
            flag("-q", "--quiet", help="only print the paths of the checkpoints"),
            transfers.NO_VERIFY,
        ),
    ),
    Command(
        "download-model-def",
        "download model definition",
        f"{_SHOW}:download_model_def",
        (_ID, arg("--output-dir", default=".", help="output directory")),
    ),
    Command(
        "list|ls",
        "list experiments",
        f"{_SHOW}:list_experiments",
        (
            flag("--all", "-a", help="show all experiments (also archived and other users')"),
            flag("--show_project", help="include columns for workspace name and project name"),
            *pagination.arguments(200),
            _FORM,
        ),
        is_default=True,
    ),
    Command(
        "list-checkpoints|lc",
        "list checkpoints of experiment",
        f"{_SHOW}:list_checkpoints",
        (
            _ID,
            arg(
                "--best",
                type=at_least(0),
                metavar="N",
                help="Return the best N checkpoints, among those with a validation metric",
            ),
            _FORM,
        ),
    ),
    Command(
        "list-trials|lt",
        "list trials of experiment",
        f"{_SHOW}:list_trials",
        (
            _ID,
            flag("--best", help="sort by the searcher's metric, best first"),
            *pagination.arguments(200),
            _FORM,
        ),
    ),
)

NOUN = Command(
    "experiment|e",
    "manage experiments",
    commands=(
        Command(
            "activate|unpause",
            "activate experiment, i.e., unpause a paused experiment",
            f"{_HERE}:activate",
            (_IDS,),
        ),
        Command("archive", "archive experiment", f"{_HERE}:archive", (_IDS,)),
        Command("cancel", "cancel experiment", f"{_HERE}:cancel", (_IDS,)),
        Command(
            "compare",
            "compare experiments: results, and where their configurations differ",
            "determined.cli.experiment.compare:compare",
            (_IDS, _FORM),
        ),
        _CREATE,
        *_SHOWING,
        *change.COMMANDS,
        *examples.COMMANDS,
        Command(
            "fork",
            "create an experiment from the configuration and the files of another one",
            "determined.cli.experiment.fork:fork",
            (_ID, *FORK_OPTIONS),
        ),
        Command("kill", "kill experiment", f"{_HERE}:kill", (_IDS,)),
        Command(
            "logs",
            "fetch logs of the first trial of an experiment",
            f"{_HERE}:logs",
            (_ID, *log_stream.arguments()),
        ),
        Command("pause", "pause experiment", f"{_HERE}:pause", (_IDS,)),
        Command(
            "story",
            "show the story of an experiment",
            f"{_HERE}:print_story",
            (_ID, *story.arguments()),
        ),
        Command("unarchive", "unarchive experiment", f"{_HERE}:unarchive", (_IDS,)),
        Command(
            "wait",
            "wait for experiment to reach terminal state",
            "determined.cli.experiment.create:wait",
            (
                _ID,
                arg(
                    "--polling-interval",
                    type=seconds,
                    default=5,
                    help="the interval (in seconds) to poll for updated state",
                ),
            ),
        ),
    ),
)


def activate(args: argparse.Namespace) -> None:
    """Resume a paused experiment."""
    _act(args, "activate", "Activated")


def archive(args: argparse.Namespace) -> None:
    """Hide a finished experiment from lists."""
    _act(args, "archive", "Archived")


def unarchive(args: argparse.Namespace) -> None:
    """Show an archived experiment in lists again."""
    _act(args, "unarchive", "Unarchived")


def pause(args: argparse.Namespace) -> None:
    """Ask every trial to checkpoint and free its slots."""
    _act(args, "pause", "Paused")


def cancel(args: argparse.Namespace) -> None:
    """Stop an experiment after its trials have checkpointed."""
    _end(args, "cancel", "Canceled")


def kill(args: argparse.Namespace) -> None:
    """Stop an experiment and its trials immediately."""
    _end(args, "kill", "Killed")


def logs(args: argparse.Namespace) -> None:
    session = connect.session(args)
    trial_id = first_trial(session, args.experiment_id)
    if trial_id is None:
        print(f"Experiment {args.experiment_id} has no trials yet")
        return
    log_stream.print_trial(session, trial_id, args)


def print_story(args: argparse.Namespace) -> None:
    """Print the events of the experiment with their times and causes."""
    story.print_story(connect.session(args), "experiments", args.experiment_id, args)


def first_trial(session: BaseSession, experiment_id: int) -> Optional[int]:
    """The ID of the first trial; None before it exists."""
    path = f"/api/v1/experiments/{experiment_id}/trials"
    trials = session.get(path, params={"limit": 1}).json()["trials"]
    return trials[0]["id"] if trials else None


def task_of_trial(session: BaseSession, trial_id: int) -> str:
    """The task ID of a trial, which all of its runs share."""
    return str(session.get(f"/api/v1/trials/{trial_id}").json()["trial"]["taskId"])


def _end(args: argparse.Namespace, action: str, done: str) -> None:
    """End an experiment, or say that it had ended."""
    session = connect.session(args)

    def end(number: int) -> None:
        path = f"/api/v1/experiments/{number}"
        state = str(session.get(path).json()["experiment"]["state"])
        session.post(f"{path}/{action}")
        show.print_stop(f"experiment {number}", done, state)

    _each(args, end)


def _act(args: argparse.Namespace, action: str, done: str) -> None:
    session = connect.session(args)

    def act(number: int) -> None:
        session.post(f"/api/v1/experiments/{number}/{action}")
        print(f"{done} experiment {number}")

    _each(args, act)


def _each(args: argparse.Namespace, act: Callable[[int], None]) -> None:
    """Act on each experiment, also after one of several has failed.

    Raises:
        CliError: some have failed; the text has the reasons.
    """
    if len(args.experiment_id) == 1:
        act(args.experiment_id[0])
        return
    failed = []
    for number in dict.fromkeys(args.experiment_id):
        try:
            act(number)
        except api_errors.APIException as error:
            failed.append(f"experiment {number}: {error}")
    if failed:
        raise errors.CliError("; ".join(failed))
