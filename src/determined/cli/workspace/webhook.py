"""`det webhook`: messages to other servers about experiments, log lines and alerts."""

from __future__ import annotations

import argparse
from typing import Any, Dict, List, Mapping

from determined.cli import arguments, connect, errors
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.cli.workspace import lookup

_HERE = "determined.cli.workspace.webhook"
_PATH = "/api/v1/webhooks"
_ID = arg("webhook_id", type=int, help="ID of the webhook")
_STATES = ("ACTIVE", "PAUSED", "COMPLETED", "CANCELED", "ERROR")
_CHANGE = "TRIGGER_TYPE_EXPERIMENT_STATE_CHANGE"
_LOG = "TRIGGER_TYPE_TASK_LOG"
_ALERT = "TRIGGER_TYPE_CUSTOM"
_HEADERS = ("ID", "Name", "Workspace", "Mode", "Type", "Triggers", "URL")

NOUN = Command(
    "webhook|wh",
    "manage webhooks",
    commands=(
        Command(
            "create",
            "create webhook",
            f"{_HERE}:create",
            (
                arg("name", help="name of the webhook, unique in its workspace"),
                arg("url", help="address that gets the messages"),
                arg(
                    "--on",
                    action="append",
                    default=[],
                    choices=_STATES,
                    metavar="STATE",
                    help=f"each change of an experiment to this state: {', '.join(_STATES)}; "
                    "may be repeated",
                ),
                arg(
                    "--log",
                    action="append",
                    default=[],
                    metavar="REGEX",
                    help="the first log line of each task that matches (RE2); may be repeated",
                ),
                flag("--alert", help="each call of core_context.alert(); implies --specific"),
                flag("--slack", help="messages in the form that Slack takes"),
                flag("--specific", help="only for experiments whose configuration names it"),
                arg("-w", "--workspace-name", help="one workspace (default: all workspaces)"),
            ),
        ),
        Command(
            "delete|rm",
            "delete webhook",
            f"{_HERE}:delete",
            (_ID, arguments.YES),
        ),
        Command(
            "list|ls",
            "list webhooks",
            f"{_HERE}:list_webhooks",
            (flag("--json", help="print as JSON"),),
            is_default=True,
        ),
        Command(
            "set-url",
            "change the address of a webhook",
            f"{_HERE}:set_url",
            (_ID, arg("url", help="address that gets the messages")),
        ),
        Command("test", "test webhook", f"{_HERE}:test", (_ID,)),
    ),
)


def create(args: argparse.Namespace) -> None:
    """Raises CliError: no trigger is given, or the workspace does not exist."""
    triggers: List[Dict[str, Any]] = [_trigger(_CHANGE, {"state": state}) for state in args.on]
    triggers += [_trigger(_LOG, {"regex": regex}) for regex in args.log]
    triggers += [_trigger(_ALERT, {})] if args.alert else []
    if not triggers:
        raise errors.CliError("give at least one of --on STATE, --log REGEX and --alert")
    session = connect.session(args)
    place = 0
    if args.workspace_name:
        place = lookup.workspace(session, args.workspace_name)["id"]
    is_specific = args.specific or args.alert
    body = {
        "name": args.name,
        "url": args.url,
        "webhookType": f"WEBHOOK_TYPE_{'SLACK' if args.slack else 'DEFAULT'}",
        "mode": f"WEBHOOK_MODE_{'SPECIFIC' if is_specific else 'WORKSPACE'}",
        "workspaceId": place,
        "triggers": triggers,
    }
    webhook = session.post(_PATH, json=body).json()["webhook"]
    number = webhook["id"]
    print(f"Created webhook '{webhook['name']}' (ID {number}); try it: det webhook test {number}")


def list_webhooks(args: argparse.Namespace) -> None:
    session = connect.session(args)
    webhooks = session.get(_PATH).json()["webhooks"]
    if args.json:
        show.as_json(webhooks)
        return
    places = session.get("/api/v1/workspaces").json()["workspaces"] if webhooks else []
    names = {place["id"]: place["name"] for place in places}
    show.table(_HEADERS, [_row(webhook, names) for webhook in webhooks])


def delete(args: argparse.Namespace) -> None:
    """Raises CliError: the answer is not yes."""
    session = connect.session(args)
    arguments.confirm(
        args, f"Delete webhook {args.webhook_id} with the messages that it has not delivered?"
    )
    session.delete(f"{_PATH}/{args.webhook_id}")
    print(f"Deleted webhook {args.webhook_id}")


def set_url(args: argparse.Namespace) -> None:
    body = {"url": args.url}
    connect.session(args).patch(f"{_PATH}/{args.webhook_id}", json=body)
    print(f"Webhook {args.webhook_id} sends to {args.url} now")


def test(args: argparse.Namespace) -> None:
    """Send a message without data, once."""
    connect.session(args).post(f"{_PATH}/{args.webhook_id}/test")
    print(f"The address of webhook {args.webhook_id} took the message")


def _trigger(kind: str, condition: Mapping[str, str]) -> Dict[str, Any]:
    return {"triggerType": kind, "condition": dict(condition)}


def _row(webhook: Mapping[str, Any], places: Mapping[int, str]) -> List[Any]:
    place = webhook.get("workspaceId")
    return [
        webhook["id"],
        webhook["name"],
        places.get(place, place) if place else "all",
        webhook["mode"].replace("WEBHOOK_MODE_", "").lower(),
        webhook["webhookType"].replace("WEBHOOK_TYPE_", "").lower(),
        ", ".join(_words(trigger) for trigger in webhook["triggers"]),
        webhook["url"],
    ]


def _words(trigger: Mapping[str, Any]) -> str:
    """A trigger as the options of `create` name it."""
    kind, condition = trigger["triggerType"], trigger.get("condition") or {}
    if kind == _CHANGE:
        return f"on {condition.get('state', '')}"
    if kind == _LOG:
        return f"log {condition.get('regex', '')}"
    return "alert" if kind == _ALERT else str(kind)
