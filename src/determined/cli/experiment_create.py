"""`det experiment create` and `wait`: hand in an experiment, follow it to its end."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any, Dict, List, Optional

from determined.cli import connect, declare, errors, experiment, log_stream, show
from determined.common import config_text, context, submit
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors

_TERMINAL = ("COMPLETED", "CANCELED", "ERROR", "DELETED")
_WORTH_TELLING_BYTES = 1 << 20
_AWAY_S = 120.0
_WARNINGS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the cluster has now; "
    "the experiment waits until agents with enough of them have joined",
}


def create(args: argparse.Namespace) -> None:
    """Submit a config with its files; with `-f` follow the first trial's log."""
    _refuse_unserved(args)
    config = _config(args)
    try:
        files = context.read(args.model_def, args.include, progress=_Progress())
    except context.ContextError as error:
        raise errors.CliError(str(error)) from None
    session = connect.session(args)
    new = submit.Submission(
        config=config,
        files=files,
        activate=not args.paused,
        project_id=args.project_id,
        template=args.template,
    )
    answer = submit.create(session, new)
    for warning in (*answer["configWarnings"], *(answer.get("warnings") or ())):
        declare.warn(f"Warning: {_WARNINGS.get(warning, warning)}")
    number = answer["experiment"]["id"]
    print(f"Created experiment {number}", flush=True)
    if args.follow_first_trial:
        follow(session, number)


def go_on(args: argparse.Namespace) -> None:
    """Let an ended experiment go on; with `-f` follow its first trial's log."""
    session = connect.session(args)
    number = args.experiment_id
    body = {"id": number, "overrideConfig": _override(args)}
    session.post("/api/v1/experiments/continue", json=body)
    print(f"Continued experiment {number}", flush=True)
    if args.follow_first_trial:
        follow(session, number)


def wait(args: argparse.Namespace) -> None:
    """Wait for the end of an experiment, also over a restart of the master.

    Raises:
        CliError: it ended in another state than COMPLETED.
    """
    session = connect.session(args)
    path = f"/api/v1/experiments/{args.experiment_id}"
    away_since_s: Optional[float] = None
    while True:
        try:
            state = show.state(session.get(path).json()["experiment"]["state"])
            away_since_s = None
        except api_errors.MasterNotFoundException:
            now_s = time.monotonic()
            away_since_s = away_since_s or now_s
            if now_s - away_since_s > _AWAY_S:
                raise
            state = ""
        if state == "COMPLETED":
            return
        if state in _TERMINAL:
            raise errors.CliError(f"experiment {args.experiment_id} ended in state {state}")
        time.sleep(args.polling_interval)


class _Progress:
    """Tells how much was read, once it is enough to be waited for."""

    def __init__(self) -> None:
        self._told_bytes = 0

    def __call__(self, read_bytes: int, items: int) -> None:
        if read_bytes - self._told_bytes >= _WORTH_TELLING_BYTES:
            self._told_bytes = read_bytes
            text = f"Preparing files to send to master... {show.size(read_bytes)}, {items} files"
            print(text, file=sys.stderr, flush=True)


def _config(args: argparse.Namespace) -> str:
    """The text to send: the file's own, or with the overrides of `--config` set in it."""
    try:
        with open(args.config_file, encoding="utf-8") as file:
            text = file.read()
        config = config_text.load(text, args.config_file)
        if not args.config:
            return text
        config_text.override(config, args.config)
        return config_text.dump(config)
    except OSError as error:
        raise errors.CliError(f"config file '{args.config_file}': {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise errors.CliError(
            f"config file '{args.config_file}': byte {error.start + 1} is not UTF-8 text"
        ) from None
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None


def _override(args: argparse.Namespace) -> str:
    try:
        config: Dict[str, Any] = {}
        if args.config_file:
            with open(args.config_file, encoding="utf-8") as file:
                config = config_text.load(file.read(), args.config_file)
        if args.config:
            config_text.override(config, args.config)
        return config_text.dump(config) if config else ""
    except OSError as error:
        raise errors.CliError(f"config file '{args.config_file}': {error.strerror}") from None
    except (UnicodeDecodeError, config_text.ConfigTextError) as error:
        raise errors.CliError(str(error)) from None


def _refuse_unserved(args: argparse.Namespace) -> None:
    for given, option in (
        (args.local, "--local"),
        (args.test_mode, "--test-mode"),
        (args.publish, "--publish"),
    ):
        if given:
            raise errors.CliError(f"{option} is not served by this version")


def follow(session: BaseSession, number: int) -> None:
    """Print the log of the first trial, once there is one."""
    print("Waiting for first trial to begin...", flush=True)
    trial_id = experiment.first_trial(session, number)
    pause_s = 0.05
    while trial_id is None:
        time.sleep(pause_s)
        pause_s = min(pause_s * 1.5, 1.0)
        trial_id = experiment.first_trial(session, number)
        if trial_id is None and _is_over(session, number):
            raise errors.CliError(f"experiment {number} ended without a trial")
    print(f"Following first trial with ID {trial_id}", flush=True)
    log_stream.print_trial(session, trial_id, _everything())


def _is_over(session: BaseSession, number: int) -> bool:
    body: Dict[str, Any] = session.get(f"/api/v1/experiments/{number}").json()
    return show.state(body["experiment"]["state"]) in _TERMINAL


def _everything() -> argparse.Namespace:
    """The arguments of a followed log without filters."""
    parser = argparse.ArgumentParser()
    declare.add(parser, declare.Command("logs", "fetch trial logs", "", log_stream.arguments()))
    words: List[str] = ["--follow"]
    return parser.parse_args(words)
