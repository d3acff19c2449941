"""`det master`: information, configuration, log and cluster message of the master."""

from __future__ import annotations

import argparse
from typing import Any, Dict

from determined.cli import connect, declare, errors, log_stream
from determined.cli.arguments import at_least
from determined.cli.declare import Command, OneOf, arg, flag
from determined.cli.output import full_json, show

_HERE = "determined.cli.master"
_FORMAT = OneOf(
    (
        flag("--json", help="Output in JSON format"),
        flag("--yaml", help="Output in YAML format"),
    )
)

NOUN = Command(
    "master",
    "manage master",
    commands=(
        Command(
            "cluster-message",
            "manage the message shown to all users",
            commands=(
                Command(
                    "clear",
                    "clear cluster message",
                    f"{_HERE}:clear_message",
                    (
                        flag(
                            "-c",
                            "--clear",
                            help="accepted for older scripts: the command always clears",
                        ),
                    ),
                ),
                Command(
                    "get",
                    "get cluster message",
                    f"{_HERE}:get_message",
                    (_FORMAT,),
                    is_default=True,
                ),
                Command(
                    "set",
                    "set cluster message",
                    f"{_HERE}:set_message",
                    (
                        arg(
                            "-s",
                            "--start",
                            help="when it is first shown (RFC 3339; default: now)",
                        ),
                        OneOf(
                            (
                                arg("-e", "--end", help="when it is last shown (RFC 3339)"),
                                arg(
                                    "-d",
                                    "--duration",
                                    help="how long it is shown, e.g. 24h or 90m",
                                ),
                            )
                        ),
                        arg("-m", "--message", help="the message, at most 250 characters"),
                    ),
                ),
            ),
        ),
        Command(
            "config",
            "manage master config",
            args=(_FORMAT,),
            commands=(
                Command(
                    "set",
                    "set master config",
                    f"{_HERE}:set_config",
                    (
                        arg(
                            "--log.level",
                            dest="log_level",
                            choices=("TRACE", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
                            help="set log level in the master config",
                        ),
                        arg(
                            "--log.color",
                            dest="log_color",
                            choices=("on", "off"),
                            help="set log color in the master config",
                        ),
                    ),
                ),
                Command(
                    "show",
                    "show master config",
                    f"{_HERE}:show_config",
                    (_FORMAT,),
                    is_default=True,
                ),
            ),
        ),
        Command("info", "fetch master info", f"{_HERE}:info", (_FORMAT,)),
        Command(
            "logs",
            "fetch master logs",
            f"{_HERE}:logs",
            (
                flag("-f", "--follow", help="follow the logs of master, similar to tail -f"),
                arg(
                    "--tail",
                    type=at_least(0),
                    help="number of lines to show, counting from the end of the log"
                    " (default is all)",
                ),
            ),
        ),
    ),
)


def info(args: argparse.Namespace) -> None:
    """Print the public information of the master; needs no login."""
    answer = connect.anonymous(args).get("/api/v1/master").json()
    _show(args, full_json.completed("GetMasterResponse", answer))


def show_config(args: argparse.Namespace) -> None:
    """Print the configuration of the master with its secrets masked; for admins."""
    _show(args, connect.session(args).get("/api/v1/master/config").json()["config"])


def set_config(args: argparse.Namespace) -> None:
    """Change the level or the colour of the log of the running master."""
    log: Dict[str, Any] = {}
    if args.log_level:
        log["level"] = f"LOG_LEVEL_{args.log_level}"
    if args.log_color:
        log["color"] = args.log_color == "on"
    if not log:
        declare.warn("nothing to set: give --log.level or --log.color")
        return
    body = {"config": {"log": log}, "fieldMask": {"paths": [f"log.{name}" for name in log]}}
    connect.session(args).patch("/api/v1/master/config", json=body)


def get_message(args: argparse.Namespace) -> None:
    """Print the cluster message with its times."""
    answer = connect.session(args).get("/api/v1/master/cluster_message").json()
    if answer.get("clusterMessage") is None and not (args.json or args.yaml):
        print("No cluster message is set")
        return
    _show(args, full_json.completed("GetClusterMessageResponse", answer))


def set_message(args: argparse.Namespace) -> None:
    """Replace the cluster message; for admins.

    Raises:
        CliError: the option -m is missing.
    """
    if not args.message:
        raise errors.CliError("give the text of the message with -m")
    fields = {
        "message": args.message,
        "startTime": args.start,
        "endTime": args.end,
        "duration": args.duration,
    }
    body = {name: value for name, value in fields.items() if value is not None}
    connect.session(args).put("/api/v1/master/cluster_message", json=body)
    print("Set cluster message")


def clear_message(args: argparse.Namespace) -> None:
    connect.session(args).delete("/api/v1/master/cluster_message")
    print("Cleared cluster message")


def logs(args: argparse.Namespace) -> None:
    params = {"follow": args.follow, "offset": -args.tail if args.tail else None}
    session = connect.session(args)
    response = session.get(
        "/api/v1/master/logs", params=params, stream=True, timeout=log_stream.QUIET_S
    )
    for message in log_stream.messages(response):
        entry = message["logEntry"]
        level = str(entry.get("level", "")).replace("LOG_LEVEL_", "")
        print(f"{entry['timestamp']} [{level}]: {entry['message']}", flush=args.follow)


def _show(args: argparse.Namespace, data: Any) -> None:
    if args.json:
        show.as_json(data)
    else:
        show.as_yaml(data)
