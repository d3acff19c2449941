"""A session with a terminal in a shell: the master is the ssh client of the shell's own server.

The server starts the login shell as the task's user, and ends it with the connection. It proves
itself by the key pair of the shell, so nobody between the master and the container reads along.
This module imports the ssh library, 12 MB: only the function that opens a terminal imports it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import asyncssh

from determined_master.api.upstream.connection import CONNECT_S, Forward, unanswered
from determined_master.domain.errors import BadGateway, FailedPrecondition
from determined_master.domain.task.ssh_files import KeyPair
from determined_master.domain.task.terminal import TerminalSize
from determined_master.services.tasks.proxies import ServiceTarget

TERM = "xterm-256color"
PIECE_BYTES = 32 * 1024
WINDOW_BYTES = 256 * 1024
"""Output that the server may send before the client reads."""
KEEPALIVE_S = 20
BROKEN_OFF = "The connection to the shell broke off: the programs in this terminal have ended."

asyncssh.set_log_level("WARNING")


class ShellSession:
    """One login shell with a terminal."""

    def __init__(
        self, connection: asyncssh.SSHClientConnection, process: asyncssh.SSHClientProcess[bytes]
    ) -> None:
        self._connection = connection
        self._process = process

    async def read(self) -> bytes:
        """The next output; empty when the login shell has ended. Raises BadGateway."""
        with _broken_off():
            return await self._process.stdout.read(PIECE_BYTES)

    async def write(self, data: bytes) -> None:
        """Type, as fast as the server takes it. Raises BadGateway."""
        with _broken_off():
            self._process.stdin.write(data)
            await self._process.stdin.drain()

    def resize(self, size: TerminalSize) -> None:
        """Give the terminal another size."""
        self._process.change_terminal_size(size.columns, size.rows)

    async def ending(self) -> str:
        """How the login shell ended, in words. Raises BadGateway: the connection did."""
        with _broken_off():
            await self._process.wait_closed()
        if self._process.exit_signal is not None:
            return f"The shell was ended by signal {self._process.exit_signal[0]}."
        if self._process.exit_status is None:
            raise BadGateway(BROKEN_OFF)
        return f"The shell exited with status {self._process.exit_status}."

    async def close(self) -> None:
        """End the login shell and its terminal; programs in it get SIGHUP."""
        self._connection.abort()
        with contextlib.suppress(asyncssh.Error, OSError):
            await self._connection.wait_closed()


async def open_session(
    target: ServiceTarget, forward: Forward, keys: KeyPair, user: str, size: TerminalSize
) -> ShellSession:
    """Log in to a shell and start its login shell with a terminal.

    Args:
        target: the shell's ssh server.
        forward: connects with services whose addresses cannot be reached.
        keys: of the shell.
        user: the account to log in as.
        size: of the terminal.

    Raises:
        BadGateway: no ssh server answers there, now.
        FailedPrecondition: it is not the shell's, refuses the account, or gives no terminals.
    """
    try:
        connection = await _connect(target, forward, keys, user)
    except asyncssh.PermissionDenied as error:
        raise FailedPrecondition(
            f"the ssh server of shell {target.task_id} refuses user {user!r}: see the shell's log"
        ) from error
    except asyncssh.ConnectionLost as error:
        raise BadGateway(f"{target.where} broke off: {error.reason}") from error
    except asyncssh.Error as error:
        raise FailedPrecondition(
            f"{target.where} is not the ssh server of this shell: {error.reason}"
        ) from error
    except OSError as error:
        raise BadGateway(unanswered(target, error)) from error
    try:
        process = await connection.create_process(
            term_type=TERM,
            term_size=(size.columns, size.rows),
            encoding=None,
            window=WINDOW_BYTES,
            max_pktsize=PIECE_BYTES,
        )
    except (asyncssh.Error, OSError) as error:
        connection.abort()
        reason = error.reason if isinstance(error, asyncssh.Error) else str(error)
        raise FailedPrecondition(
            f"shell {target.task_id} gives user {user!r} no terminal ({reason}): its log says "
            "why; log in without one by det shell open ID -- -T"
        ) from error
    return ShellSession(connection, process)


@contextlib.contextmanager
def _broken_off() -> Iterator[None]:
    try:
        yield
    except (asyncssh.Error, OSError) as error:
        raise BadGateway(BROKEN_OFF) from error


async def _connect(
    target: ServiceTarget, forward: Forward, keys: KeyPair, user: str
) -> asyncssh.SSHClientConnection:
    forwarded = await forward(target)
    own_key = asyncssh.import_public_key(keys.public)
    nothing: list[asyncssh.SSHKey] = []
    where = (target.host, target.host_port) if forwarded is None else ("", 0)
    return await asyncssh.connect(
        *where,
        sock=forwarded,
        config=None,
        known_hosts=([own_key], nothing, nothing),
        username=user,
        client_keys=[asyncssh.import_private_key(keys.private)],
        agent_path=None,
        preferred_auth=("publickey",),
        compression_algs=None,
        connect_timeout=CONNECT_S,
        login_timeout=CONNECT_S,
        keepalive_interval=KEEPALIVE_S,
    )
