"""Starts an interactive task: builds its config, packs its files, sends the request."""

from __future__ import annotations

import argparse
import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from determined.cli import connect, declare, errors, publish, submission
from determined.cli.config import config_file
from determined.cli.interactive import kinds
from determined.cli.interactive.kinds import TaskKind
from determined.cli.workspace import lookup
from determined.common import config_text, submit
from determined.common.api import Session


def launch(
    args: argparse.Namespace,
    *,
    entrypoint: Optional[List[str]] = None,
    more: Optional[Mapping[str, Any]] = None,
) -> Tuple[Session, Dict[str, Any]]:
    """Start a task of the kind that the command line names.

    Args:
        args: holds the arguments of `kinds.launch_arguments`, and optionally
            `publish.argument`.
        entrypoint: from the command line; None if the kind has its own.
        more: extra fields of the request of this kind.

    Returns:
        The session, and the master's answer with the task (under the word of its kind),
        `config` and `warnings`.

    Raises:
        CliError: a file, an option or the workspace is invalid.
    """
    kind = kinds.kind_from_args(args)
    body: Dict[str, Any] = {
        "config": _config(args, entrypoint),
        "files": submission.files(args.context, args.include),
        "workspaceId": None,
        **(more or {}),
    }
    if getattr(args, "template", None):
        body["templateName"] = args.template
    session = connect.session(args)
    if args.workspace_name:
        body["workspaceId"] = lookup.workspace(session, args.workspace_name)["id"]
    response = session.post(kind.path, json=body, timeout=600.0)
    answer: Dict[str, Any] = response.json()
    for warning in submit.config_warnings(response.headers):
        declare.warn(f"Warning: {warning}")
    submission.print_warnings(answer, kind.title)
    return session, answer


def published(args: argparse.Namespace) -> List[publish.PublishedPort]:
    """The ports to forward while the command runs.

    Raises:
        CliError: a port is invalid, or `--detach` is given.
    """
    ports = publish.parse(getattr(args, "publish", ()))
    if ports and args.detach:
        raise errors.CliError(
            "--publish forwards ports while the command runs, but --detach ends it at once: "
            "leave one of them out"
        )
    return ports


def announce(kind: TaskKind, task: Mapping[str, Any]) -> None:
    """Print the started task. Scripts read the ID from this line."""
    print(f"Launched {kind.title} (id: {task['id']}, name: {task['description']}).", flush=True)


def _config(args: argparse.Namespace, entrypoint: Optional[List[str]]) -> Dict[str, Any]:
    """The config file with the overrides, volumes, entrypoint and ports of the options."""
    config: Dict[str, Any] = config_file.load(args.config_file) if args.config_file else {}
    try:
        config_text.override(config, args.config)
    except config_text.ConfigTextError as error:
        raise errors.CliError(str(error)) from None
    volumes = [_mount(volume) for volume in getattr(args, "volume", ())]
    if volumes:
        config["bind_mounts"] = [*_mounts(config), *volumes]
    if entrypoint:
        config["entrypoint"] = entrypoint
    publish.add(config, published(args))
    return config


def _mounts(config: Mapping[str, Any]) -> Iterable[Any]:
    mounts = config.get("bind_mounts") or []
    if not isinstance(mounts, list):
        raise errors.CliError(
            f"bind_mounts is {json.dumps(mounts)}, but it must be a list for --volume"
        )
    return mounts


def _mount(volume: str) -> Dict[str, str]:
    host_path, colon, container_path = volume.partition(":")
    if not (host_path and colon and container_path) or ":" in container_path:
        raise errors.CliError(
            f"--volume {volume!r} must have the form <host path>:<container path>, such as "
            "/data/images:/images"
        )
    return {"host_path": host_path, "container_path": container_path}
