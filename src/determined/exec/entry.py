"""The program that an agent starts for a task: `python3 -m determined.exec.entry KIND [ARGS]`.

KIND is one of:
- `trial`
- `command`, with the program and its arguments
- `gang`, as `command` in each of several containers
- `shell`, with its port
- `notebook`
- `tensorboard`, with further arguments for TensorBoard

It sets up the task's directories, fetches its files, runs the startup hooks, waits for the other
containers, and runs the user's program or the task's server. It forwards signals to it and returns
its exit code. All of this happens in one process, except that a shell sources the hooks and then
starts this program again.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, List, Tuple

from determined._constants import run_dir
from determined._info import read_cluster_info, write_info
from determined.common.api import errors
from determined.common.api._task_session import TaskSession
from determined.exec import _reprieve, launch
from determined.exec._container import (
    accelerators,
    context_directory,
    environment,
    preflight,
    rendezvous,
)
from determined.exec._log import EntryFailed, log

AFTER_HOOKS = "--after-hooks"
HOOKS_FAILED = 1
KINDS = ("trial", "command", "gang", "notebook", "shell", "tensorboard")


def main(argv: List[str]) -> int:
    """Run a task until it ends; return its exit code."""
    is_after_hooks = argv[:1] == [AFTER_HOOKS]
    kind, *rest = argv[1:] if is_after_hooks else argv or [""]
    if kind not in KINDS:
        raise EntryFailed(f"{kind!r} is not a kind of task; use one of {', '.join(KINDS)}", 2)
    env = os.environ
    session = TaskSession.from_environment(env)
    if not is_after_hooks:
        environment.set_up(env)
        work_dir = environment.enter_work_dir(env)
        context_directory.fetch(session, env, work_dir)
        hooks = _hooks()
        if hooks:
            _source(hooks, [kind, *rest])
    if kind == "trial":
        return _run_trial(session)
    if kind == "command":
        return _run_command(rest)
    if kind == "gang":
        return _run_gang(session, rest)
    if kind == "tensorboard":
        from determined.exec import tensorboard

        return tensorboard.run(session, env, rest)
    return _run_on_slots(kind, session, rest)


def _hooks() -> List[str]:
    candidates = [os.path.join(run_dir(), "dynamic-tcd-startup-hook.sh"), "startup-hook.sh"]
    return [path for path in candidates if os.path.isfile(path)]


def _source(hooks: List[str], arguments: List[str]) -> None:
    """Replace this process by a shell that sources the hooks and starts this program again.

    The program thus inherits the state that hooks set: variables, directory, limits, umask.
    """
    lines = ["set -e", "set -x"]
    lines += [f'test -f "{path}" && source "{_sourced(path)}"' for path in hooks]
    lines += ["{ set +x; } 2>/dev/null", 'exec "$0" -m determined.exec.entry "$@"']
    script = "\n".join(lines)
    command = ["bash", "-c", script, sys.executable, AFTER_HOOKS, *arguments]
    try:
        os.execvp("bash", command)
    except FileNotFoundError:
        raise EntryFailed(
            f"the startup hook {hooks[0]} needs bash, which this image lacks",
            HOOKS_FAILED,
        ) from None


def _sourced(path: str) -> str:
    return path if "/" in path else f"./{path}"  # `source` looks up bare names on PATH


def _run_trial(session: TaskSession) -> int:
    env = os.environ
    found, _ = _meet(session)
    cluster = read_cluster_info(os.path.join(run_dir(), "info"))
    assert cluster is not None
    command = launch.prepare(cluster, env)
    code = launch.run(
        command,
        env,
        lambda: _report_start(session, found),
        lambda: _reprieve.seconds(session, env),
    )
    launch.explain(command, code, cluster)
    return code


def _run_gang(session: TaskSession, arguments: List[str]) -> int:
    env = os.environ
    command = _command(arguments)
    found, met = _meet(session)
    place = {
        "DET_CHIEF_IP": met["container_addrs"][0],
        "DET_CONTAINER_ADDRS": ",".join(met["container_addrs"]),
        "DET_CONTAINER_RANK": str(met["container_rank"]),
    }
    return launch.run(command, {**env, **place}, lambda: accelerators.report(session, env, found))


def _meet(session: TaskSession) -> Tuple[accelerators.Accelerators, Dict[str, Any]]:
    """Wait for the other containers; return the local accelerators and the rendezvous."""
    found = _find_accelerators()
    is_alone = rendezvous.is_alone(os.environ)
    meet = rendezvous.meet_nobody if is_alone else rendezvous.wait_for_containers
    met = meet(session, os.environ)
    preflight.check(session, os.environ, met, found)
    return found, met


def _report_start(session: TaskSession, found: accelerators.Accelerators) -> None:
    """Report what a trial has, and that it is ready where no rendezvous has done that.

    The master may be away for long: the end of the program is not held back for it.
    """
    if rendezvous.is_alone(os.environ):
        import threading

        from determined.exec._servers.server_process import report_ready

        ready = threading.Thread(target=report_ready, args=(session, os.environ), daemon=True)
        ready.start()
    accelerators.report(session, os.environ, found)


def _run_on_slots(kind: str, session: TaskSession, arguments: List[str]) -> int:
    """Run a shell or notebook server, which uses this task's slots."""
    found = _find_accelerators()
    preflight.check_accelerators(os.environ, found)
    accelerators.report(session, os.environ, found)
    if kind == "shell":
        from determined.exec import shell

        return shell.run(session, os.environ, arguments)
    from determined.exec import notebook

    return notebook.run(session, os.environ)


def _find_accelerators() -> accelerators.Accelerators:
    """Detect the accelerators, write resources.json, and log where this task runs."""
    found = accelerators.detect()
    info = os.path.join(run_dir(), "info")
    write_info(info, "resources.json", {"gpu_uuids": found.uuids})
    accelerators.describe(os.environ, found)
    return found


def _run_command(arguments: List[str]) -> int:
    return launch.run(_command(arguments), os.environ)


def _command(arguments: List[str]) -> List[str]:
    """The command to run; a single argument is a shell command line."""
    if not arguments:
        raise EntryFailed("a command task needs a program to run", 2)
    return ["/bin/sh", "-c", arguments[0]] if len(arguments) == 1 else arguments


def _guarded(argv: List[str]) -> int:
    try:
        return main(argv)
    except EntryFailed as error:
        log(str(error), "ERROR")
        return error.code
    except (errors.BadRequestException, errors.BadResponseException) as error:
        log(f"the task could not be prepared: {error}", "ERROR")
        return 1
    except KeyError as error:
        log(f"the variable {error.args[0]} is not set; an agent must start this program", "ERROR")
        return 2
    except OSError as error:
        log(f"the task could not be prepared: {error}", "ERROR")
        return 1


if __name__ == "__main__":
    sys.exit(_guarded(sys.argv[1:]))
