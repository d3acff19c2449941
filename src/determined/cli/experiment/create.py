"""`det experiment create`, `continue` and `wait`."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import time
from typing import Any, Callable, Dict, Iterator, Optional, Sequence

from determined.cli import (
    connect,
    declare,
    errors,
    log_stream,
    publish,
    submission,
)
from determined.cli.checkpoint import transfers
from determined.cli.config import config_file
from determined.cli.experiment import test_mode
from determined.cli.experiment.commands import first_trial, task_of_trial
from determined.cli.output import show
from determined.cli.trial import story
from determined.common import config_text, progress, submit
from determined.common.api import BaseSession, Session, states
from determined.common.api import errors as api_errors

_PAUSED = "PAUSED"
_UNREACHABLE_LIMIT_S = 120.0
_TEST_POLL_S = 0.5
_END_PAUSES_S = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0)


def create(args: argparse.Namespace) -> None:
    """Submit a config with its files; with `-f`, follow the log of the first trial.

    Raises:
        CliError: an option or a file is invalid, or the experiment of `-t` or the trial of `-f`
            failed.
    """
    _check_order(args.config_file, args.model_def)
    ports = publish.parse(args.publish)
    if ports and args.paused:
        raise errors.CliError(
            "--publish opens ports while the experiment runs, but --paused does not start it: "
            "leave one of them out"
        )
    config = publish.with_ports(config_file.text_of(args.config_file, args.config), ports)
    if args.local:
        test_mode.run_here(config, args.model_def)
        return
    files = submission.files(args.model_def, args.include)
    session = connect.session(args)
    new = submit.Submission(
        config=test_mode.small(config) if args.test_mode else config,
        files=files,
        activate=not args.paused,
        project_id=args.project_id,
        template=args.template,
    )
    with _upload() as uploaded:
        answer = submit.create(session, new, uploaded)
    warnings = answer["configWarnings"]
    for warning in test_mode.own_warnings(warnings, config) if args.test_mode else warnings:
        declare.warn(f"Warning: {warning}")
    submission.print_warnings(answer, "experiment")
    number = answer["experiment"]["id"]
    print(f"Created experiment {number}", flush=True)
    args.doing = f"{'test' if args.test_mode else 'follow'} experiment {number}"
    if args.test_mode:
        follow(session, number, ports)
        _report_test(session, number)
    elif args.follow_first_trial or ports:
        report_trial(session, follow(session, number, ports))


def continue_experiment(args: argparse.Namespace) -> None:
    """Continue an ended experiment; with `-f`, follow the log of its first trial."""
    session = connect.session(args)
    number = args.experiment_id
    body = {"id": number, "overrideConfig": _override(args)}
    session.post("/api/v1/experiments/continue", json=body)
    print(f"Continued experiment {number}", flush=True)
    args.doing = f"follow experiment {number}"
    if args.follow_first_trial:
        report_trial(session, follow(session, number))


def wait(args: argparse.Namespace) -> None:
    """Wait until an experiment ends, also across a restart of the master.

    Raises:
        CliError: it ended in a state other than COMPLETED, or it is paused.
    """
    session = connect.session(args)
    with progress.progress_bar(f"Experiment {args.experiment_id}") as report:
        state = _ended_state(session, args.experiment_id, args.polling_interval, report)
    if state == _PAUSED:
        raise errors.CliError(
            f"experiment {args.experiment_id} is PAUSED and does not end by itself: "
            f"activate it with 'det experiment activate {args.experiment_id}'"
        )
    reason = story.reason_of(session, "experiments", args.experiment_id)
    if state != "COMPLETED":
        because = f": {reason}" if reason else ""
        raise errors.CliError(
            f"experiment {args.experiment_id} ended in state {state}{because}; see "
            f"'det experiment logs {args.experiment_id}'"
        )
    print(f"Experiment {args.experiment_id} is COMPLETED")
    if reason:
        declare.warn(f"Warning: {reason}")


def _check_order(config: str, model_def: Optional[str]) -> None:
    """Refuse a config file and a model directory in swapped order."""
    if model_def and os.path.isdir(config) and os.path.isfile(model_def):
        swapped = shlex.join(("det", "experiment", "create", model_def, config))
        raise errors.CliError(
            f"config file '{config}' is a directory and model directory '{model_def}' is a file: "
            f"the arguments are swapped; run: {swapped}"
        )


def _ended_state(
    session: BaseSession, number: int, interval_s: float, report: progress.ProgressCallback
) -> str:
    unreachable_since_s: Optional[float] = None
    while True:
        try:
            experiment = session.get(f"/api/v1/experiments/{number}").json()["experiment"]
            state = show.state(experiment["state"])
            unreachable_since_s = None
            report(experiment.get("progress") or 0.0, state)
            if state in states.ENDED or state == _PAUSED:
                return state
        except api_errors.MasterNotFoundException:
            now_s = time.monotonic()
            unreachable_since_s = unreachable_since_s or now_s
            if now_s - unreachable_since_s > _UNREACHABLE_LIMIT_S:
                raise
            report(0.0, "(the master does not answer)")
        time.sleep(interval_s)


def _report_test(session: BaseSession, number: int) -> None:
    """Print the result of a test, and archive the experiment of a successful one.

    Raises:
        CliError: the test failed.
    """
    state = _ended_state(session, number, _TEST_POLL_S, lambda share, text: None)
    if state != "COMPLETED":
        raise errors.CliError(
            f"the test ended in state {state}: see 'det experiment logs {number}'"
        )
    session.post(f"/api/v1/experiments/{number}/archive")
    print(f"The test succeeded; experiment {number} is archived")


def report_trial(session: BaseSession, trial_id: int) -> None:
    """Print how a trial ended whose log is complete.

    Raises:
        CliError: it failed.
    """
    state = ""
    for pause_s in _END_PAUSES_S:  # the log is complete a moment before the trial has ended
        time.sleep(pause_s)
        state = show.state(session.get(f"/api/v1/trials/{trial_id}").json()["trial"]["state"])
        if state in states.ENDED or state == _PAUSED:
            break
    reason = story.reason_of(session, "trials", trial_id)
    if state == "ERROR":
        raise errors.CliError(
            f"trial {trial_id} ended in state ERROR: {reason or 'no reason was stored'}; see "
            f"'det trial story {trial_id}'"
        )
    print(f"Trial {trial_id} is {state}", flush=True)
    if reason:
        declare.warn(f"Warning: trial {trial_id}: {reason}")


@contextlib.contextmanager
def _upload() -> Iterator[Callable[[int, int], None]]:
    """The progress callback of an upload; the bar appears with the first part of a large one."""
    with contextlib.ExitStack() as stack:
        moved: Optional[transfers.BytesMoved] = None
        before = 0

        def report(sent_bytes: int, total: int) -> None:
            nonlocal moved, before
            if total < submission.PROGRESS_STEP_BYTES:
                return
            if before == 0 and moved is None:
                moved = stack.enter_context(transfers.progress_bar("Sending files", total))
            if moved is not None:
                moved(max(0, sent_bytes - before))  # a repeated part is no progress
            before = max(before, sent_bytes)

        yield report


def _override(args: argparse.Namespace) -> str:
    try:
        config: Dict[str, Any] = {}
        if args.config_file:
            config = config_text.load(config_file.read(args.config_file), args.config_file)
        if args.config:
            config_text.override(config, args.config)
        return config_text.dump(config) if config else ""
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None


def follow(session: Session, number: int, published: Sequence[publish.PublishedPort] = ()) -> int:
    """Wait for the first trial, open its published ports, and print its log; the trial's ID."""
    print("Waiting for first trial to begin...", flush=True)
    trial_id = first_trial(session, number)
    pause_s = 0.05
    while trial_id is None:
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 1.0)
        trial_id = first_trial(session, number)
        if trial_id is None and _has_ended(session, number):
            raise errors.CliError(f"experiment {number} ended without a trial")
    print(f"Following first trial with ID {trial_id}", flush=True)
    task_id = task_of_trial(session, trial_id) if published else ""
    with publish.open_ports(session, task_id, published):
        log_stream.print_trial(session, trial_id, log_stream.everything())
    return trial_id


def _has_ended(session: BaseSession, number: int) -> bool:
    body: Dict[str, Any] = session.get(f"/api/v1/experiments/{number}").json()
    return show.state(body["experiment"]["state"]) in states.ENDED
