"""Ports of this machine: which are in use, and by which process."""

import errno
import os
import pathlib
import socket
from typing import Dict, Iterator, Optional, Tuple

from determined.cli import errors
from determined_deploy.local import processes

_LISTEN = "0A"


def check_free(host: str, port: int, option: str) -> None:
    """Check that no other process listens on a port.

    Raises:
        CliError: the port is in use; the text names the process and a free port for `option`.
    """
    if is_free(host, port):
        return
    free = next_free(host, port + 1)
    remedy = f"use {option} {free}, which is free" if free else "stop it first"
    raise errors.CliError(f"port {port} is in use by {owner_of(port)}; {remedy}")


def is_free(host: str, port: int) -> bool:
    """Whether the port can be opened now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            raise errors.CliError(
                f"cannot listen on {host} port {port}: {error.strerror}; give --listen an address "
                "of this machine, such as 127.0.0.1, or 0.0.0.0 for all"
            ) from None
    return True


def answers(host: str, port: int, limit_s: float = 2.0) -> bool:
    """Whether a process accepts connections there now."""
    try:
        socket.create_connection((host, port), limit_s).close()
    except OSError:
        return False
    return True


def next_free(host: str, first: int) -> Optional[int]:
    """The lowest free port among the hundred ports from `first`."""
    for port in range(first, min(first + 100, 65536)):
        if is_free(host, port):
            return port
    return None


def owner_of(port: int) -> str:
    """The process that listens on a port, as text: pid and command if they are readable."""
    inode, uid = _listening_socket(port)
    if inode is None:
        return "another process"
    for pid in processes.all_pids():
        if inode in _sockets_of(pid):
            return f"pid {pid} ({processes.command_of(pid)})"
    return f"a process of the user with UID {uid}"


def _listening_socket(port: int) -> Tuple[Optional[str], str]:
    for name in ("tcp", "tcp6"):
        for row in _rows(pathlib.Path("/proc/net", name)):
            if row["state"] == _LISTEN and int(row["local"].rsplit(":", 1)[1], 16) == port:
                return row["inode"], row["uid"]
    return None, ""


def _rows(table: pathlib.Path) -> Iterator[Dict[str, str]]:
    try:
        lines = table.read_text().splitlines()[1:]
    except OSError:
        return
    for line in lines:
        words = line.split()
        yield {"local": words[1], "state": words[3], "uid": words[7], "inode": words[9]}


def _sockets_of(pid: int) -> Iterator[str]:
    folder = f"/proc/{pid}/fd"
    try:
        names = os.listdir(folder)
    except OSError:
        return
    for name in names:
        try:
            target = os.readlink(f"{folder}/{name}")
        except OSError:
            continue
        if target.startswith("socket:["):
            yield target[8:-1]
