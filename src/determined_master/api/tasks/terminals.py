"""The terminal of a shell in a browser, over one WebSocket.

Binary messages carry input and output, text messages of the client the terminal's size
(`{"columns":80,"rows":24}`); the first message is the size. The code of the close says why a
terminal ended. A text message before it says that in words (`{"reason":"..."}`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from enum import IntEnum
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.api.http.access import on
from determined_master.api.http.middleware import caller_of
from determined_master.api.http.reauthorization import RECHECK_S, CallerRecheck, Reauthorization
from determined_master.api.http.routes import Call, socket_route
from determined_master.api.tasks.interactive import account_of
from determined_master.domain.errors import (
    BadGateway,
    DetError,
    InvalidArgument,
    NotFound,
    PermissionDenied,
    TooLarge,
    Unauthenticated,
)
from determined_master.domain.task.terminal import OutputPace, TerminalSize, read_size
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import WebSocket
from determined_master.services.access.identities import Identities
from determined_master.services.cluster.agents import Agents
from determined_master.services.tasks.proxies import Proxies
from determined_master.services.tasks.terminals import ShellDoor, Terminals

if TYPE_CHECKING:
    from determined_master.api.upstream.shell_session import ShellSession

MAX_INPUT_BYTES = 64 * 1024
"""Of one message; a page sends a larger paste in pieces."""
FIRST_SIZE_S = 30.0
ENDING_S = 3.0
"""A task that is killed loses its ssh server this long before its end is known, at most."""
TASK_ENDED = "The shell's task has ended: its log says why."


class Close(IntEnum):
    """Why a terminal ended."""

    ENDED = 1000
    """The login shell has ended; the reason names its status."""
    MALFORMED = 1008
    TOO_BIG = 1009
    BROKEN = 1011
    """The shell refused the terminal, or the user has too many: another one would fail, too."""
    AGAIN = 1013
    """The ssh server does not answer (yet), or the connection to it broke off."""
    SIGNED_OUT = 4401
    REFUSED = 4403
    """The caller may not be in the shell (any more)."""
    NOT_RUNNING = 4410
    """There is no such shell, or it does not run (yet, or any more)."""


class _Ended(Exception):
    """A terminal ends."""

    def __init__(self, code: Close, reason: str) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason


class _Left(Exception):
    """The client has disconnected."""


@socket_route("/api/ui/v1/shells/{shell_id}/terminal", access=on("task", "shell_id"))
async def shell_terminal(
    call: Call,
    socket: WebSocket,
    terminals: Terminals,
    proxies: Proxies,
    identities: Identities,
    agents: Agents,
    live: LiveAllocations,
) -> None:
    """A login shell with a terminal, until one side ends it."""
    if (await socket.receive())["type"] != "websocket.connect":
        return
    # A browser shows no page the status of a refused handshake: refusals are closes, too.
    await socket.send({"type": "websocket.accept"})
    recheck = CallerRecheck(lambda: caller_of(call.http.token, identities), RECHECK_S)
    try:
        with terminals.place(call.caller.user_id, call.caller.username):
            door = await terminals.door(call.caller, call.parameters["shell_id"])
            user = await account_of(call, door.row, agents, live) or door.user
            stay = recheck.reauthorization(
                lambda caller: terminals.check(caller, door.row, door.target)
            )
            await _serve(socket, door, proxies, user, stay)
    except _Ended as ended:
        await _close(socket, ended.code, ended.reason)
    except NotFound as error:
        await _close(socket, Close.NOT_RUNNING, error.text)
    except PermissionDenied as error:
        await _close(socket, Close.REFUSED, error.text)
    except DetError as error:
        await _close(socket, Close.BROKEN, error.text)
    except (_Left, OSError):
        return


async def _serve(
    socket: WebSocket, door: ShellDoor, proxies: Proxies, user: str, stay: Reauthorization
) -> None:
    """Raises _Ended, _Left, OSError: the end; there is no other."""
    session = await _open(socket, door, proxies, user)
    work = [
        asyncio.ensure_future(_to_shell(socket, session)),
        asyncio.ensure_future(_to_client(socket, session)),
    ]
    ending = proxies.ending_of(door.target)
    try:
        await stay.first_of([*work, ending])
        if ending.done():
            raise _Ended(Close.NOT_RUNNING, TASK_ENDED)
        for task in work:
            if task.done():
                task.result()
    except BadGateway as error:
        await asyncio.wait([ending], timeout=ENDING_S)
        if ending.done():
            raise _Ended(Close.NOT_RUNNING, TASK_ENDED) from error
        raise _Ended(Close.AGAIN, error.text) from error
    except Unauthenticated:
        raise _Ended(Close.SIGNED_OUT, "Your login has ended: sign in again.") from None
    except DetError as error:
        raise _ended_by(error, Close.REFUSED) from error
    finally:
        for task in work:
            task.cancel()
        await asyncio.gather(*work, return_exceptions=True)
        await session.close()


async def _open(socket: WebSocket, door: ShellDoor, proxies: Proxies, user: str) -> ShellSession:
    try:
        async with asyncio.timeout(FIRST_SIZE_S):
            size = await _next_size(socket)
        opened = await asyncio.to_thread(_session_opener)
        return await opened(door.target, proxies.forward, door.keys, user, size)
    except TimeoutError:
        raise _Ended(Close.MALFORMED, "The terminal's size did not come.") from None
    except BadGateway as error:
        raise _Ended(Close.AGAIN, error.text) from error
    except DetError as error:
        raise _ended_by(error, Close.BROKEN) from error


def _session_opener() -> Callable[..., Awaitable[ShellSession]]:
    # 100 modules, for masters whose users open terminals.
    from determined_master.api.upstream.shell_session import open_session

    return open_session


def _ended_by(error: DetError, code: Close) -> _Ended:
    match error:
        case InvalidArgument():
            code = Close.MALFORMED
        case TooLarge():
            code = Close.TOO_BIG
        case _:
            pass
    return _Ended(code, error.text)


async def _next_size(socket: WebSocket) -> TerminalSize:
    message = await _next_message(socket)
    if isinstance(message, bytes):
        raise InvalidArgument("the first message must be the terminal's size")
    return read_size(message)


async def _next_message(socket: WebSocket) -> str | bytes:
    """Raises _Left; TooLarge."""
    event = await socket.receive()
    if event["type"] != "websocket.receive":
        raise _Left
    text: str | None = event.get("text")
    message: str | bytes = event.get("bytes") or b"" if text is None else text
    if len(message) > MAX_INPUT_BYTES:
        raise TooLarge(
            f"the message has {len(message)} bytes: send at most {MAX_INPUT_BYTES} at once"
        )
    return message


async def _to_shell(socket: WebSocket, session: ShellSession) -> None:
    while True:
        message = await _next_message(socket)
        if isinstance(message, str):
            session.resize(read_size(message))
        else:
            await session.write(message)


async def _to_client(socket: WebSocket, session: ShellSession) -> None:
    pace = OutputPace()
    while data := await session.read():
        await socket.send({"type": "websocket.send", "bytes": data})
        pause_s = pace.pause_s(len(data), clock.monotonic_s())
        if pause_s:
            await asyncio.sleep(pause_s)
    raise _Ended(Close.ENDED, await session.ending())


async def _close(socket: WebSocket, code: Close, reason: str) -> None:
    """A close holds 123 bytes of text, so the reason comes before."""
    text = msgspec.json.encode({"reason": reason}).decode()
    with contextlib.suppress(OSError, RuntimeError):
        await socket.send({"type": "websocket.send", "text": text})
        await socket.send({"type": "websocket.close", "code": int(code)})
