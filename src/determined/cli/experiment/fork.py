"""`det experiment fork` and `det trial fork`: experiments from earlier ones."""

from __future__ import annotations

import argparse
from typing import Any, Dict

from determined.cli import connect, declare, errors
from determined.cli.declare import arg, flag
from determined.common import config_text, submit
from determined.common.api import Session

CONFIG_HELP = (
    "Additional configuration arguments, as `key=value`. Nested keys are named by dots, e.g. "
    "`resources.slots_per_trial=4`; a list by commas; anything else in JSON or YAML, e.g. "
    '`bind_mounts=[{host_path: "/tmp", container_path: "/tmp"}]`.'
)
FORK_OPTIONS = (
    arg("--config", action="append", default=[], help=CONFIG_HELP),
    arg("--name", help="name of the new experiment"),
    flag("--paused", help="do not activate the experiment"),
    flag("-f", "--follow-first-trial", help="follow the logs of the first trial"),
)


def fork(args: argparse.Namespace) -> None:
    """Create an experiment with the configuration and the files of another one."""
    session = connect.session(args)
    experiment = session.get(f"/api/v1/experiments/{args.experiment_id}").json()["experiment"]
    _create(args, session, experiment, experiment["config"])


def fork_trial(args: argparse.Namespace) -> None:
    """Create an experiment of one trial that starts from the latest checkpoint of a trial."""
    session = connect.session(args)
    trial = session.get(f"/api/v1/trials/{args.trial_id}").json()["trial"]
    number = trial["experimentId"]
    experiment = session.get(f"/api/v1/experiments/{number}").json()["experiment"]
    searcher = experiment["config"]["searcher"]
    config = {
        **experiment["config"],
        "hyperparameters": trial["hparams"],
        "searcher": {
            "name": "single",
            "metric": searcher["metric"],
            "smaller_is_better": searcher.get("smaller_is_better", True),
            "source_trial_id": args.trial_id,
        },
    }
    _create(args, session, experiment, config)


def _create(
    args: argparse.Namespace, session: Session, parent: Dict[str, Any], config: Dict[str, Any]
) -> None:
    config = {**config, "name": args.name or f"Fork of {parent['name']}"}
    for key in ("workspace", "project"):  # it is placed by the id of its parent's project
        config.pop(key, None)
    try:
        config_text.override(config, args.config)
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None
    body = {
        "config": config_text.dump(config),
        "parentId": parent["id"],
        "projectId": parent["projectId"],
        "activate": not args.paused,
    }
    response = session.post("/api/v1/experiments", json=body)
    answer = response.json()
    for warning in submit.config_warnings(response.headers):
        declare.warn(f"Warning: {warning}")
    number = answer["experiment"]["id"]
    print(f"Created experiment {number} from experiment {parent['id']}", flush=True)
    if args.follow_first_trial:
        from determined.cli.experiment import create  # it takes long to load

        create.report_trial(session, create.follow(session, number))
