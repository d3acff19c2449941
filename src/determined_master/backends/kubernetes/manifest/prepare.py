"""Writes the task's files in a container of the task's image, and starts the task's program.

`python3 prepare.py ORDER RUN HARNESS NOTE [DIRECTORY PROGRAM [ARGUMENTS]]`. It sets the variables
of `variables.json` in the directory ORDER, if that exists. It unpacks `files.tar.gz` of ORDER into
RUN, and the harness, which it downloads from the master, into HARNESS. A program `-m MODULE` runs
in this process, which saves the start of an interpreter; another one replaces it. Without one, it
ends. A failure is written to NOTE, where Kubernetes reads the reason of a container's end.

It uses only the standard library of Python 3.9, because the image contains nothing of ours yet.
If the master is unavailable, it retries for up to ten minutes.
"""

from __future__ import annotations

import contextlib
import errno
import http.client
import io
import json
import os
import signal
import socket
import sys
import tarfile
import threading
import time
from urllib.parse import urlsplit

PATIENCE_S = 600.0
MAX_PAUSE_S = 15.0
CALL_S = 60.0
WAKE_S = 0.5
MARK = "files of the task: "
"""Begins a note of this program: the task's own program may write notes too."""
NOT_EXECUTABLE, NOT_FOUND = 126, 127
SIGNALLED = 128 + int(signal.SIGTERM)


class Failed(Exception):
    """The container cannot start its program; `code` is its exit code."""

    def __init__(self, text: str, code: int = 1) -> None:
        super().__init__(text)
        self.code = code


def main(words: list[str]) -> None:
    """Prepare the files and run the program, or exit with the reason on standard error."""
    order, run, harness, note, *rest = words
    # The first process of a container ignores signals that it does not handle. An exception would
    # be lost where the interpreter calls the handler inside of an object's finalizer.
    signal.signal(signal.SIGTERM, lambda *_: os._exit(SIGNALLED))
    try:
        set_variables(order)
        with open(os.path.join(order, "files.tar.gz"), "rb") as file:
            unpack(file.read(), run)
        unpack(fetch_beside(order), harness)
        program = rest[1:]
        if rest:
            os.chdir(rest[0])
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if program and program[0] != "-m":
            replace(program)
    except (Failed, OSError, EOFError, tarfile.TarError) as error:
        log(f"the task's files are not prepared: {error}", "ERROR")
        _note(note, f"{MARK}{error}")
        sys.exit(error.code if isinstance(error, Failed) else 1)
    if program:
        run_module(program[1], program[2:])


def set_variables(order: str) -> None:
    """Set the variables that the pod does not name. They are UTF-8 in every locale."""
    path = os.path.join(order, "variables.json")
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for name, value in json.load(file).items():
                os.environb[name.encode()] = value.encode()


def unpack(data: bytes, directory: str) -> None:
    """Unpack an archive of the master's, with its modes and this user as the owner.

    A directory of a volume can belong to root and be open to all, which only root can change. Then
    what lies in it is closed to others.
    """
    os.makedirs(directory, mode=0o755, exist_ok=True)
    mask = 0o777 if os.stat(directory).st_uid == os.getuid() else 0o700
    umask = os.umask(0)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                path = os.path.normpath(os.path.join(directory, member.name))
                if member.isdir():
                    _make_directory(path, member.mode & mask)
                    continue
                source = archive.extractfile(member)
                if source is not None:
                    os.makedirs(os.path.dirname(path), mode=0o755 & mask, exist_ok=True)
                    _write(path, source.read(), member.mode & mask)
    finally:
        os.umask(umask)


def _make_directory(path: str, mode: int) -> None:
    os.makedirs(path, mode=mode, exist_ok=True)
    status = os.stat(path)
    if status.st_uid == os.getuid() and status.st_mode & 0o7777 != mode:
        os.chmod(path, mode)


def _write(path: str, content: bytes, mode: int) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
        file.write(content)
    if os.stat(path).st_mode & 0o777 != mode & 0o777:  # the file of an earlier try
        os.chmod(path, mode)


def fetch_beside(order: str) -> bytes:
    """Download the harness in a thread, so that a signal ends this one at any instant.

    A handler does not run if its signal comes just before a call that waits for the master.

    Raises:
        Failed: the harness cannot be had.
    """
    contents: list[bytes] = []
    failures: list[Exception] = []

    def work() -> None:
        try:
            contents.append(fetch(order))
        except Exception as error:
            failures.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(WAKE_S)
    if failures:
        raise failures[0]
    return contents[0]


def fetch(order: str) -> bytes:
    """Download the harness from the master. Raises Failed."""
    url = os.environ["DET_MASTER"].rstrip("/") + "/task/harness.tar.gz"
    ends_at = time.monotonic() + PATIENCE_S
    pause_s = 0.5
    while True:
        is_final = False
        try:
            status, kind, body = get(url, order)
            if status == 200:
                return body
            # An answer that is not JSON comes from a gateway, while the master restarts.
            reason, is_final = f"HTTP {status}", status == 404 and "json" in kind
        except (OSError, ValueError) as error:
            reason = str(error)
        if is_final or time.monotonic() > ends_at:
            raise Failed(f"the master at {url} does not give the task's files: {reason}")
        if pause_s == 0.5:
            log(
                f"the master at {url} does not give the task's files yet ({reason}): asking again "
                f"for {PATIENCE_S:.0f} s",
                "WARNING",
            )
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, MAX_PAUSE_S)


def get(url: str, order: str) -> tuple[int, str, bytes]:
    """Status, content type and body of an answer. Raises OSError, ValueError."""
    parts = urlsplit(url)
    host, is_https = parts.hostname or "", parts.scheme == "https"
    port = parts.port or (443 if is_https else 80)
    token = os.environ.get("DET_SESSION_TOKEN", "")
    with contextlib.closing(http.client.HTTPConnection(host, port, timeout=CALL_S)) as connection:
        connection.connect()
        if is_https:
            connection.sock = _tls(connection.sock, host, order)
        try:
            connection.request("GET", parts.path, headers={"Authorization": f"Bearer {token}"})
            answer = connection.getresponse()
            return answer.status, answer.headers.get("Content-Type", ""), answer.read()
        except http.client.IncompleteRead as error:
            raise ConnectionError("the answer is cut off") from error
        except http.client.HTTPException as error:
            raise ConnectionError(f"the answer is not HTTP: {error!r}") from error


def _tls(plain: socket.socket, host: str, order: str) -> socket.socket:
    """Trust the master's own certificate too; it may have another name than its address."""
    import ssl

    context = ssl.create_default_context()
    own = os.path.join(order, "master.crt")
    if os.path.exists(own):
        context.load_verify_locations(own)
    name = os.environ.get("DET_MASTER_CERT_NAME") or host
    return context.wrap_socket(plain, server_hostname=name)


def replace(program: list[str]) -> None:
    """Replace this process by a program of the image. Raises Failed."""
    try:
        os.execvp(program[0], program)
    except OSError as error:
        code = NOT_FOUND if error.errno == errno.ENOENT else NOT_EXECUTABLE
        raise Failed(
            f"the program {program[0]!r} cannot be started: {error.strerror}", code
        ) from error


def run_module(name: str, arguments: list[str]) -> None:
    """Run a module of the harness as `python3 -m` does, in this process."""
    import importlib
    import runpy

    importlib.invalidate_caches()  # the harness was not there when the search path was read
    if not getattr(sys.flags, "safe_path", False):
        sys.path[0] = os.getcwd()
    sys.argv[1:] = arguments
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def log(text: str, level: str) -> None:
    """Write a line as the harness does."""
    sys.stderr.write(f"{level}: [{os.getpid()}] determined: {text}\n")
    sys.stderr.flush()


def _note(path: str, text: str) -> None:
    try:
        with open(path, "r+", encoding="utf-8") as file:  # the kubelet has made it
            file.write(text[:4000])
    except OSError as error:
        log(f"the reason is not noted at {path}: {error}", "WARNING")


if __name__ == "__main__":
    main(sys.argv[1:])
