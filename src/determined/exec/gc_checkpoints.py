"""Checkpoint garbage collection: deletes files and reports the remaining ones."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from typing import Any, Dict, List, Tuple

from determined.common import storage
from determined.common.api import errors
from determined.common.api._task_session import TaskSession
from determined.errors import CheckpointNotFound
from determined.exec._container.environment import set_up
from determined.exec._log import EntryFailed, log

BATCH = 40
"""Checkpoints per report; small, since deleted files are unreported until then."""


def main(argv: List[str]) -> int:
    """Delete what the arguments name; return 0 if all of it is deleted."""
    args = _parse(argv)
    set_up(os.environ)
    config = _load(args.storage_config)
    uuids: List[str] = _load(args.delete) if args.delete else []
    globs: List[str] = _load(args.globs) if args.globs else ["**/*"]
    for glob in globs:
        if not glob or ".." in glob.split("/"):
            raise EntryFailed(f"the pattern {glob!r} is empty or leads out of the checkpoint")
    if args.dry_run:
        log(f"would delete {globs} of checkpoints {uuids}")
        return 0
    manager = storage.build(config)
    found = 0
    failures: List[str] = []
    for start in range(0, len(uuids), BATCH):
        left, failed = delete_files(manager, uuids[start : start + BATCH], globs)
        if left:
            _report(left)
        found += len(left)
        failures += failed + forget_all(manager, [uuid for uuid in left if not left[uuid]])
    if failures:
        raise EntryFailed("checkpoints could not be deleted: " + "; ".join(failures))
    if args.delete_tensorboards:
        _delete_tensorboards(manager, args.experiment_id)
    log(f"garbage collection is done: {found} of {len(uuids)} checkpoints existed")
    return 0


def delete_files(
    manager: storage.StorageManager, uuids: List[str], globs: List[str]
) -> Tuple[Dict[str, Dict[str, int]], List[str]]:
    """Delete files of checkpoints, a few at a time; skip missing checkpoints.

    A checkpoint without files keeps its manifest until `forget_all`. If this task is interrupted
    before its report, the next one can tell a deleted checkpoint from a missing one.

    Returns:
        The remaining files of each checkpoint, and the errors. A checkpoint whose deletion failed
        half-way is in both.
    """
    left: Dict[str, Dict[str, int]] = {}
    failures: List[str] = []

    def delete(uuid: str, _: storage.Halt) -> None:
        try:
            left[uuid] = manager.clear(uuid, globs) if globs else manager.list_paths(uuid)
        except CheckpointNotFound:
            log(f"checkpoint {uuid} is no longer in the storage", "WARNING")
        except (OSError, ValueError) as error:
            failures.append(f"{uuid}: {error}")
            with contextlib.suppress(CheckpointNotFound, OSError, ValueError):
                rest = manager.list_paths(uuid)
                if rest:
                    left[uuid] = rest

    storage.each(delete, uuids)
    return left, failures


def forget_all(manager: storage.StorageManager, uuids: List[str]) -> List[str]:
    """Delete the manifests of checkpoints without files; return the errors."""
    failures: List[str] = []

    def forget(uuid: str, _: storage.Halt) -> None:
        try:
            manager.forget(uuid)
        except OSError as error:
            failures.append(f"{uuid}: {error}")

    storage.each(forget, uuids)
    return failures


def _report(left: Dict[str, Dict[str, int]]) -> None:
    session = TaskSession.from_environment(os.environ)
    items = [
        {"uuid": uuid, "resources": {"resources": {p: str(n) for p, n in resources.items()}}}
        for uuid, resources in left.items()
    ]
    session.patch("/api/v1/checkpoints", json={"checkpoints": items})


def _delete_tensorboards(manager: storage.StorageManager, experiment_id: int) -> None:
    from determined.tensorboard import get_experiment_sync_path

    below = get_experiment_sync_path(os.environ["DET_CLUSTER_ID"], str(experiment_id))
    manager.delete_below(below.as_posix())


def _load(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError) as error:
        raise EntryFailed(f"{path} cannot be read: {error}") from error


def _parse(argv: List[str]) -> argparse.Namespace:
    env = os.environ
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--experiment-id", type=int, required=True)
    parser.add_argument("--storage-config", default=env.get("DET_STORAGE_CONFIG"))
    parser.add_argument("--delete", default=env.get("DET_DELETE"), help="a JSON list of uuids")
    parser.add_argument("--globs", default=env.get("DET_GLOB"), help="a JSON list of patterns")
    parser.add_argument(
        "--delete-tensorboards",
        action="store_true",
        default=env.get("DET_DELETE_TENSORBOARDS", "").lower() in ("1", "true"),
    )
    parser.add_argument(
        "--dry-run",
        action="store_true",
        default=env.get("DET_DRY_RUN", "").lower() in ("1", "true"),
    )
    parser.add_argument("--log-level", default=env.get("DET_LOG_LEVEL", "INFO"))
    args = parser.parse_args(argv)
    if not args.storage_config:
        parser.error("--storage-config is required")
    return args


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except EntryFailed as error:
        log(str(error), "ERROR")
        sys.exit(error.code)
    except (errors.BadRequestException, OSError) as error:
        log(f"garbage collection failed: {error}", "ERROR")
        sys.exit(1)
