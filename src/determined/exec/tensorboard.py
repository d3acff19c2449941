"""A TensorBoard task: TensorBoard behind the master's proxy, and its event files.

Source: task-contract 7.4.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import tempfile
import threading
import time
from typing import Callable, Iterator, List, MutableMapping, NamedTuple

from determined._constants import run_dir
from determined.common.api._session import BaseSession
from determined.exec._log import EntryFailed, log
from determined.exec._servers.event_files import LIST_EVERY_S, Mirror, read_sources
from determined.exec._servers.key_proxy import KeyProxy, read_key
from determined.exec._servers.programs import find_module
from determined.exec._servers.server_process import report_ready, serve


class Timeouts(NamedTuple):
    """Timeouts and intervals, in seconds."""

    answer_s: float = 300.0
    """Timeout for TensorBoard's first response."""
    files_s: float = 600.0
    """Timeout for the first event file."""
    look_s: float = 1.0
    list_s: float = LIST_EVERY_S


TIMEOUTS = Timeouts()


def run(session: BaseSession, env: MutableMapping[str, str], arguments: List[str]) -> int:
    """Serve until the task ends; return TensorBoard's exit code.

    Args:
        session: the task's session.
        env: the task's environment.
        arguments: the user's arguments for TensorBoard.

    Raises:
        EntryFailed: TensorBoard is not installed, does not respond or exits unexpectedly, or
            there are no event files.
    """
    program = find_module("tensorboard.main", "tensorboard", env)
    port = _number(env, "TENSORBOARD_PORT")
    sources = read_sources(
        os.path.join(run_dir(), "tensorboard", "sources.json"), env["DET_CLUSTER_ID"]
    )
    shown = tempfile.mkdtemp(prefix="tensorboard-shown-")
    mirror = Mirror(sources, shown)
    prefix = f"/proxy/{env['DET_TASK_ID']}"
    with _listen(port) as inner:

        def watch(ended: threading.Event) -> None:
            _wait_for_answer(inner, prefix, ended)
            _wait_for_files(mirror, lambda: report_ready(session, env, "waiting"), ended)
            if ended.is_set():
                return
            log("TensorBoard contains metrics")
            report_ready(session, env)
            while not ended.wait(TIMEOUTS.list_s):
                mirror.refresh(ended)

        command = [*program, *tool_arguments(inner, prefix, arguments, shown)]
        server_exit = serve(command, env, watch)
    if not server_exit.was_signaled:
        raise EntryFailed(
            f"TensorBoard exited unexpectedly with code {server_exit.code}; see its messages "
            "above",
            server_exit.code or 1,
        )
    return server_exit.code


@contextlib.contextmanager
def _listen(port: int) -> Iterator[int]:
    """Start a key proxy on the task's port; yield the port on which TensorBoard must listen.

    Raises:
        EntryFailed: the port is in use, or the key is missing.
    """
    key = read_key(os.path.join(run_dir(), "tensorboard"))
    if not key:
        raise EntryFailed("the key of this TensorBoard is missing; the master must provide it")
    try:
        proxy = KeyProxy(port, key)
    except OSError as error:
        raise EntryFailed(f"cannot listen on port {port}: {error.strerror}") from None
    with proxy:
        yield proxy.inner_port


def tool_arguments(port: int, prefix: str, arguments: List[str], directory: str) -> List[str]:
    """TensorBoard's options. User arguments override all but address and log directory."""
    return [
        "--load_fast=false",  # the fast loader does not follow replaced files
        "--reload_multifile=true",  # a run can have several writers
        *(argument for argument in arguments if argument != "--bind_all"),
        f"--port={port}",
        "--host=127.0.0.1",  # it does not authenticate clients
        f"--path_prefix={prefix}",
        f"--logdir={directory}",
    ]


def answers(port: int, path: str) -> bool:
    """Whether a local HTTP server serves a page."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _wait_for_answer(port: int, prefix: str, ended: threading.Event) -> None:
    deadline = time.monotonic() + TIMEOUTS.answer_s
    while not ended.is_set() and not answers(port, f"{prefix}/data/environment"):
        if time.monotonic() > deadline:
            raise EntryFailed(
                f"TensorBoard did not respond on port {port} within {TIMEOUTS.answer_s:.0f} s; "
                "see its messages above"
            )
        ended.wait(TIMEOUTS.look_s)


def _wait_for_files(
    mirror: Mirror, report_waiting: Callable[[], None], ended: threading.Event
) -> None:
    """Wait for the first event file. Raises EntryFailed if there is none in time."""
    deadline = time.monotonic() + TIMEOUTS.files_s
    mirror.refresh(ended)
    if mirror.has_files or ended.is_set():
        return
    log(f"TensorBoard waits on metrics: there are no event files yet in {mirror.describe()}")
    report_waiting()
    while not mirror.has_files and not ended.is_set():
        if time.monotonic() > deadline:
            raise EntryFailed(
                f"found no event files within {TIMEOUTS.files_s:.0f} s in {mirror.describe()}: "
                "check that these experiments report metrics, and that this task can read "
                "their storage"
            )
        ended.wait(min(TIMEOUTS.list_s, TIMEOUTS.files_s))
        mirror.refresh(ended)


def _number(env: MutableMapping[str, str], name: str) -> int:
    value = env.get(name, "")
    if not value.isdigit():
        raise EntryFailed(f"the variable {name} must be a port, got {value!r}", 2)
    return int(value)
