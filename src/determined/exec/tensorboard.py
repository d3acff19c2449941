"""A TensorBoard task: the tool itself, behind the master's proxy, and its files brought to it.

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

INSTALL = (
    "install TensorBoard in the image (pip install tensorboard), or in a startup-hook.sh "
    "(pip install --user tensorboard)"
)


class Timeouts(NamedTuple):
    """How long is waited for what, in seconds."""

    answer_s: float = 300.0
    """For the tool to answer."""
    files_s: float = 600.0
    """For the first file to show."""
    look_s: float = 1.0
    list_s: float = LIST_EVERY_S


TIMEOUTS = Timeouts()


def run(session: BaseSession, env: MutableMapping[str, str], arguments: List[str]) -> int:
    """Serve until the task ends; the tool's exit code.

    Args:
        session: as this task.
        env: of this task.
        arguments: the user's, for the tool.

    Raises:
        EntryFailed: TensorBoard is not there, does not answer or has ended by itself, or there
            is nothing to show.
    """
    program = find_module("tensorboard.main", "tensorboard", env, INSTALL)
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
            f"TensorBoard ended by itself with exit code {server_exit.code}: its own words above may "
            "say why",
            server_exit.code or 1,
        )
    return server_exit.code


@contextlib.contextmanager
def _listen(port: int) -> Iterator[int]:
    """Where the tool listens, behind a door at the task's port.

    Raises:
        EntryFailed: the port is in use, or the master has put no key there.
    """
    key = read_key(os.path.join(run_dir(), "tensorboard"))
    if not key:
        raise EntryFailed("the key of this TensorBoard is not there: the master puts it there")
    try:
        door = KeyProxy(port, key)
    except OSError as error:
        raise EntryFailed(f"port {port} cannot be listened at: {error.strerror}") from None
    with door:
        yield door.inner_port


def tool_arguments(port: int, prefix: str, arguments: List[str], directory: str) -> List[str]:
    """The tool's command line; what the user adds may replace all but where it is found."""
    return [
        "--load_fast=false",  # the fast loader follows no files that are put in others' place
        "--reload_multifile=true",  # a run may have several writers
        *(argument for argument in arguments if argument != "--bind_all"),
        f"--port={port}",
        "--host=127.0.0.1",  # it asks nobody for anything
        f"--path_prefix={prefix}",
        f"--logdir={directory}",
    ]


def answers(port: int, path: str) -> bool:
    """Whether an HTTP server of this machine serves a page."""
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
                f"TensorBoard did not answer at port {port} within {TIMEOUTS.answer_s:.0f} s: "
                "its own words above may say why"
            )
        ended.wait(TIMEOUTS.look_s)


def _wait_for_files(
    mirror: Mirror, tell_waiting: Callable[[], None], ended: threading.Event
) -> None:
    """Return once there is a file to show. Raises EntryFailed: there was none in time."""
    deadline = time.monotonic() + TIMEOUTS.files_s
    mirror.refresh(ended)
    if mirror.has_files or ended.is_set():
        return
    log(f"TensorBoard waits on metrics: no files are there yet in {mirror.describe()}")
    tell_waiting()
    while not mirror.has_files and not ended.is_set():
        if time.monotonic() > deadline:
            raise EntryFailed(
                f"there was no file for TensorBoard within {TIMEOUTS.files_s:.0f} s in "
                f"{mirror.describe()}: see that these experiments report metrics, and that "
                "this task can read their storage"
            )
        ended.wait(min(TIMEOUTS.list_s, TIMEOUTS.files_s))
        mirror.refresh(ended)


def _number(env: MutableMapping[str, str], name: str) -> int:
    value = env.get(name, "")
    if not value.isdigit():
        raise EntryFailed(f"the variable {name} must be a port, got {value!r}", 2)
    return int(value)
