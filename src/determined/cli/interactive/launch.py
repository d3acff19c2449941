"""Starting an interactive task: its config from file and options, its files, one request."""

from __future__ import annotations

import argparse
import json
from typing import Any, Dict, Iterable, List, Mapping, Optional, Tuple

from determined.cli import connect, errors, publish, submission
from determined.cli.config import config_file
from determined.cli.interactive import kinds
from determined.cli.interactive.kinds import TaskKind
from determined.cli.workspace import lookup
from determined.common import config_text
from determined.common.api import Session


def launch(
    args: argparse.Namespace,
    *,
    entrypoint: Optional[List[str]] = None,
    more: Optional[Mapping[str, Any]] = None,
) -> Tuple[Session, Dict[str, Any]]:
    """Start a task of the kind that the command line names.

    Args:
        args: with what `kinds.launch_arguments` declare, and perhaps
            `publish.argument`.
        entrypoint: of the command line; None where the kind has its own.
        more: fields of this kind's request.

    Returns:
        The session that it was started over, and the master's answer: the task under its
        kind's word, `config`, `warnings`.

    Raises:
        CliError: a file, an option or the workspace cannot be used.
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
    answer: Dict[str, Any] = session.post(kind.path, json=body, timeout=600.0).json()
    submission.print_warnings(answer, kind.title)
    return session, answer


def published(args: argparse.Namespace) -> List[publish.PublishedPort]:
    """The ports that are to be reached here while the command runs.

    Raises:
        CliError: they cannot be, such as because the command does not stay.
    """
    ports = publish.parse(getattr(args, "publish", ()))
    if ports and args.detach:
        raise errors.CliError(
            "--publish holds ports open while the command runs, and --detach ends it at once: "
            "leave one of them out"
        )
    return ports


def announce(kind: TaskKind, task: Mapping[str, Any]) -> None:
    """Say what was started; scripts read the ID from it."""
    print(f"Launched {kind.title} (id: {task['id']}, name: {task['description']}).", flush=True)


def _config(args: argparse.Namespace, entrypoint: Optional[List[str]]) -> Dict[str, Any]:
    """What the file says, what `--config` sets in it, volumes, the entrypoint."""
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
            f"bind_mounts is {json.dumps(mounts)}, and --volume adds to it: it has to be a list"
        )
    return mounts


def _mount(volume: str) -> Dict[str, str]:
    host_path, colon, container_path = volume.partition(":")
    if not (host_path and colon and container_path) or ":" in container_path:
        raise errors.CliError(
            f"--volume {volume!r} is not of the form <host path>:<container path>, such as "
            "/data/images:/images"
        )
    return {"host_path": host_path, "container_path": container_path}
