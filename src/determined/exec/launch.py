"""The last step of a trial's entry chain: checks the storage and runs the entrypoint."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, Callable, Dict, List, Mapping, Optional, Union

from determined._constants import run_dir
from determined._info import ClusterInfo, read_cluster_info
from determined.exec._child import NOT_EXECUTABLE, NOT_FOUND, Child
from determined.exec._log import EntryFailed, log
from determined.exec._reported import has_reported

_TRIAL_CLASS_LETTERS = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def prepare(info: ClusterInfo, env: Mapping[str, str]) -> List[str]:
    """Log the configuration, check the storage, and return the command to run.

    Raises:
        EntryFailed: the storage cannot be used.
    """
    config = info.trial._config
    container = env.get("DET_CONTAINER_ID", "")
    log(f"New trial runner in (container {container}) on agent {info.agent_id}.")
    log("Validating checkpoint storage ...")
    validate_storage(config.get("checkpoint_storage") or {})
    command = command_of(config.get("entrypoint"))
    log(f"Launching: {command}")
    return command


def validate_storage(config: Dict[str, Any]) -> None:
    """Write, read and delete a small file in the checkpoint storage.

    Raises:
        EntryFailed: one of these failed; the text has storage type and reason.
    """
    from determined.common import storage

    try:
        storage.build(config).validate()
    except (ValueError, OSError) as error:
        raise EntryFailed(
            f"checkpoint storage of type {config.get('type')} cannot be used: {error}"
        ) from error


def command_of(entrypoint: Union[str, List[str], None]) -> List[str]:
    """The command of an entrypoint: a string runs in a shell, a list runs as it is.

    A string of the legacy form `module:Class` is trained with torch's launcher.

    Raises:
        EntryFailed: there is no entrypoint.
    """
    if isinstance(entrypoint, list) and entrypoint:
        return [str(part) for part in entrypoint]
    if not isinstance(entrypoint, str) or not entrypoint.strip():
        raise EntryFailed(
            "the experiment has no entrypoint: set `entrypoint` in its configuration"
        )
    if is_trial_class(entrypoint):
        python = os.environ.get("DET_PYTHON_EXECUTABLE") or "python3"
        launcher = [python, "-m", "determined.launch.torch_distributed"]
        return [*launcher, "--", "--trial", entrypoint]
    return ["sh", "-c", entrypoint]


def is_trial_class(entrypoint: str) -> bool:
    """Whether an entrypoint has the legacy form `module:Class`."""
    module, colon, name = entrypoint.partition(":")
    letters = set(module.replace(".", "_")) | set(name)
    return bool(colon and module and name) and letters <= _TRIAL_CLASS_LETTERS


def run(
    command: List[str],
    env: Mapping[str, str],
    meanwhile: Any = None,
    reprieve: Optional[Callable[[], float]] = None,
) -> int:
    """Run a command; return its exit code, or 128 + n if signal n killed it.

    Args:
        meanwhile: called after the command has started.
        reprieve: as in `Child`.
    """
    child = Child(command, env, reprieve)
    if meanwhile is not None:
        meanwhile()
    return child.wait()


def explain(command: List[str], code: int, info: ClusterInfo) -> None:
    """Log what an exit code means, where that is not obvious."""
    shown = command[-1] if command[:2] == ["sh", "-c"] else " ".join(command)
    if code == NOT_FOUND:
        log(
            f"the entrypoint {shown!r} exited with code 127: a program or file that it uses was "
            "not found (see the line above)",
            "ERROR",
        )
    elif code == NOT_EXECUTABLE:
        log(
            f"the entrypoint {shown!r} exited with code 126: a file that it uses is not "
            "executable; make it executable or start it with its interpreter",
            "ERROR",
        )
    elif code > 128:
        log(f"the entrypoint {shown!r} was killed by {_signal(code - 128)}", "ERROR")
    elif (
        code == 0
        and info.container_rank == 0
        and not has_reported(info.trial.trial_id, os.environ)
    ):
        log("the entrypoint exited with code 0; it reported no metrics", "WARNING")


def main() -> int:
    """Run the trial of this container; its info files must exist."""
    info = read_cluster_info(os.path.join(run_dir(), "info"))
    if info is None or info.task_type != "TRIAL":
        raise EntryFailed("this container does not run a trial: there is no trial.json")
    command = prepare(info, os.environ)
    code = run(command, os.environ)
    explain(command, code, info)
    return code


def _signal(number: int) -> str:
    """A signal's number, name and usual cause."""
    try:
        name = f"signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"signal {number}"
    if number == signal.SIGKILL:
        return f"{name}; often the machine or the container ran out of memory"
    return name


if __name__ == "__main__":
    try:
        sys.exit(main())
    except EntryFailed as error:
        log(str(error), "ERROR")
        sys.exit(error.code)
