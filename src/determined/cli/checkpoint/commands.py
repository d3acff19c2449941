"""`det checkpoint`: describe, download and delete checkpoints."""

from __future__ import annotations

import argparse
from typing import List, Optional

from determined.cli import connect, errors
from determined.cli.arguments import YES, confirm
from determined.cli.checkpoint import transfers
from determined.cli.declare import Command, arg, flag
from determined.cli.output import show
from determined.common.experimental import checkpoint as sdk

_HERE = "determined.cli.checkpoint.commands"

NOUN = Command(
    "checkpoint|c",
    "manage checkpoints",
    commands=(
        Command(
            "delete",
            "delete checkpoints",
            f"{_HERE}:delete",
            (arg("checkpoints_uuids", help="comma-separated list of checkpoint UUIDs"), YES),
        ),
        Command(
            "describe",
            "describe checkpoint",
            f"{_HERE}:describe",
            (
                arg("uuid", help="checkpoint uuid to describe"),
                flag("--json", help="print as JSON"),
            ),
        ),
        Command(
            "download",
            "download checkpoint from persistent storage",
            f"{_HERE}:download",
            (
                arg("uuid", help="Download a checkpoint by specifying its UUID."),
                arg("-o", "--output-dir", help="Desired output directory for the checkpoint."),
                flag("-q", "--quiet", help="Only print the path to the checkpoint."),
                arg(
                    "--mode",
                    choices=[mode.value for mode in sdk.DownloadMode],
                    default=sdk.DownloadMode.AUTO.value,
                    help="'direct': from checkpoint storage; 'master': through the master; "
                    "'auto': direct, or through the master if that fails",
                ),
                transfers.NO_VERIFY,
            ),
        ),
        Command(
            "rm",
            "remove files from checkpoints",
            f"{_HERE}:remove_files",
            (
                arg("checkpoints_uuids", help="comma-separated list of checkpoint UUIDs"),
                arg(
                    "--glob",
                    action="append",
                    help="pattern of the files to remove, such as 'optimizer/**'; may be repeated",
                ),
                YES,
            ),
        ),
    ),
)

_TRUTHS = {
    **dict.fromkeys(("true", "yes", "1"), True),
    **dict.fromkeys(("false", "no", "0"), False),
}
_HEADERS = (
    "Experiment ID",
    "Trial ID",
    "Steps Completed",
    "Report Time",
    "Checkpoint UUID",
    "Validation Metrics",
    "Metadata",
)


def describe(args: argparse.Namespace) -> None:
    path = f"/api/v1/checkpoints/{args.uuid}"
    checkpoint = connect.session(args).get(path).json()["checkpoint"]
    if args.json:
        show.as_json(checkpoint)
        return
    training, metadata = checkpoint.get("training") or {}, checkpoint.get("metadata") or {}
    row = [
        training.get("experimentId"),
        training.get("trialId"),
        metadata.get("steps_completed"),
        show.instant(checkpoint["reportTime"]),
        checkpoint["uuid"],
        show.block(training.get("validationMetrics") or {}),
        show.block(metadata),
    ]
    show.table(_HEADERS, [row])


def delete(args: argparse.Namespace) -> None:
    """Delete checkpoints with all of their files."""
    uuids = _uuids(args)
    confirm(
        args,
        f"Deleting checkpoints {', '.join(uuids)} deletes their files from the checkpoint "
        "storage for good. Do you still want to proceed?",
    )
    connect.session(args).delete("/api/v1/checkpoints", json={"checkpointUuids": uuids})
    print(f"Deletion of checkpoints {', '.join(uuids)} is in progress")


def remove_files(args: argparse.Namespace) -> None:
    """Delete the files of checkpoints that match the patterns."""
    uuids, globs = _uuids(args), args.glob or []
    if globs:
        confirm(
            args,
            f"Files that match {', '.join(globs)} will be removed from checkpoints "
            f"{', '.join(uuids)} for good. Do you still want to proceed?",
        )
    body = {"checkpointUuids": uuids, "checkpointGlobs": globs}
    connect.session(args).post("/api/v1/checkpoints/rm", json=body)
    done = "Removal of files" if globs else "Refresh of the list of files"
    print(f"{done} of checkpoints {', '.join(uuids)} is in progress")


def download(args: argparse.Namespace) -> None:
    """Download a checkpoint into a local directory."""
    checkpoint = sdk.Checkpoint(connect.session(args), args.uuid)
    _fetch(checkpoint, args, sdk.DownloadMode(args.mode))


def download_of_trial(args: argparse.Namespace) -> None:
    """Download the best, latest or named checkpoint of a trial."""
    from determined.common.experimental import trial as sdk_trial

    smaller = truth(args.smaller_is_better, "--smaller-is-better")
    trial = sdk_trial.Trial(args.trial_id, connect.session(args))
    try:
        chosen = trial.select_checkpoint(
            latest=args.latest,
            best=args.best,
            uuid=args.uuid,
            sort_by=args.sort_by,
            smaller_is_better=smaller,
        )
    except ValueError as error:
        raise errors.CliError(str(error)) from None
    _fetch(chosen, args, sdk.DownloadMode.AUTO)


def _uuids(args: argparse.Namespace) -> List[str]:
    uuids = [uuid.strip() for uuid in args.checkpoints_uuids.split(",") if uuid.strip()]
    if not uuids:
        raise errors.CliError("no checkpoint UUID given: give one, or several separated by commas")
    return uuids


def _fetch(checkpoint: sdk.Checkpoint, args: argparse.Namespace, mode: sdk.DownloadMode) -> None:
    path = fetch(checkpoint, args.output_dir, args, mode)
    if args.quiet:
        print(path)
    else:
        print(f"Local checkpoint path:\n{path}")


def fetch(
    checkpoint: sdk.Checkpoint,
    directory: Optional[str],
    args: argparse.Namespace,
    mode: sdk.DownloadMode = sdk.DownloadMode.AUTO,
) -> str:
    """Download a checkpoint and return its directory. Shows progress unless `--quiet` is given.

    Raises:
        CliError: the download failed.
    """
    checkpoint.reload()
    total = sum((checkpoint.resources or {}).values())
    try:
        with transfers.progress_bar(f"checkpoint {checkpoint.uuid}", total, args.quiet) as moved:
            return checkpoint.download(
                path=directory, mode=mode, verify=not args.no_verify, progress=moved
            )
    except sdk.DOWNLOAD_FAILURES as error:
        where = str(getattr(error, "filename", None) or "")
        hint = "; choose another directory with -o" if where == (directory or "") != "" else ""
        raise errors.CliError(errors.in_words(error) + hint) from None


def truth(text: Optional[str], option: str) -> Optional[bool]:
    """The value of an option that takes `true` or `false`; None if it is not given.

    Raises:
        CliError: the value is neither.
    """
    if text is None:
        return None
    if text.lower() not in _TRUTHS:
        raise errors.CliError(f"{option} is '{text}': it must be true or false")
    return _TRUTHS[text.lower()]
