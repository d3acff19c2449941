"""The environment of a task's processes: directories, info files and variables."""

from __future__ import annotations

import contextlib
import os
from typing import MutableMapping, Tuple

from determined._constants import RUN_DIR, run_dir
from determined._info import ClusterInfo, TrialInfo, write_info
from determined.exec._log import EntryFailed

Env = MutableMapping[str, str]


def set_up(env: Env) -> None:
    """Create the run directory, write the info files, and complete the environment.

    Raises:
        EntryFailed: a variable that the agent sets is missing, or a directory cannot be created.
    """
    try:
        _make_directories(env)
        info = os.path.join(run_dir(), "info")
        write_info(info, "cluster.json", ClusterInfo.from_environment(env).to_json())
        if env["DET_TASK_TYPE"] == "TRIAL":
            write_info(info, "trial.json", TrialInfo.from_environment(env).to_json())
            _link_tensorboard(env)
    except KeyError as error:
        raise EntryFailed(
            f"the variable {error.args[0]} is not set; an agent must start this program"
        ) from error
    except ValueError as error:
        raise EntryFailed(f"a DET_ variable is invalid: {error}") from error
    except OSError as error:
        raise EntryFailed(f"the run directory {run_dir()} cannot be set up: {error}") from error
    _complete(env)


def enter_work_dir(env: Env) -> str:
    """Create the task's working directory if missing, enter it, and return its path."""
    path = env.get("DET_WORKDIR") or os.getcwd()
    os.makedirs(path, mode=0o700, exist_ok=True)
    if os.path.realpath(path) != os.path.realpath(os.getcwd()):
        os.chdir(path)
    env["PWD"] = path
    return path


def _make_directories(env: Env) -> None:
    logs = os.path.join(run_dir(), "train", "logs")
    os.makedirs(logs, mode=0o700, exist_ok=True)
    # Programs started over ssh or mpi write to this task's log through these links.
    for name, descriptor in (("stdout.log", 1), ("stderr.log", 2)):
        link = os.path.join(logs, name)
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(f"/proc/{os.getpid()}/fd/{descriptor}", link)
    if run_dir() != RUN_DIR and not env.get("TMPDIR"):
        # Outside a container, keep temporary files inside the task's directory.
        env["TMPDIR"] = os.path.join(run_dir(), "tmp")
        os.makedirs(env["TMPDIR"], mode=0o700, exist_ok=True)


def _link_tensorboard(env: Env) -> None:
    """Link `tensorboard` in the temporary directory to this task's, as older scripts expect.

    Does nothing if other tasks share the temporary directory, or if the name is taken.
    """
    temporary = env.get("TMPDIR") or "/tmp"
    is_own = run_dir() == RUN_DIR or temporary == os.path.join(run_dir(), "tmp")
    link = os.path.join(temporary, "tensorboard")
    if not is_own or (os.path.exists(link) and not os.path.islink(link)):
        return
    folder = os.path.join(temporary, f"tensorboard-{env['DET_ALLOCATION_ID']}-0")
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        os.unlink(link)
    os.symlink(folder, link)


def _complete(env: Env) -> None:
    user_base = env.get("PYTHONUSERBASE")
    if user_base:
        programs = os.path.join(user_base, "bin")
        paths = env.get("PATH", os.defpath).split(os.pathsep)
        env["PATH"] = os.pathsep.join([programs, *(p for p in paths if p != programs)])
    env.setdefault("DET_PYTHON_EXECUTABLE", "python3")
    name, home = _account()
    if env.get("HOME", "/") == "/":
        env["HOME"] = home
    # Without USER, `getpass.getuser` fails if the image has no such account.
    env.setdefault("USER", name)


def _account() -> Tuple[str, str]:
    """Name and home directory of the task's user, who may have no account in the image."""
    import pwd

    try:
        found = pwd.getpwuid(os.getuid())
        return found.pw_name, found.pw_dir
    except KeyError:
        pass
    try:
        with open(os.path.join(run_dir(), "etc", "passwd"), encoding="utf-8") as file:
            fields = file.readline().split(":")
    except OSError:
        fields = []
    is_own = len(fields) == 7 and fields[2] == str(os.getuid())
    return (fields[0], fields[5]) if is_own else (str(os.getuid()), os.getcwd())
