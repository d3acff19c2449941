"""The link to the master: connecting, reconnecting, and exchanging messages.

The agent connects. When the connection is lost, it reconnects, without limit by default, and
both sides send again what the other has not acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol, assert_never

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from determined_agent import clock, entropy
from determined_agent.link.backoff import ReconnectBackoff
from determined_agent.link.connection_errors import (
    REPEAT_AFTER_S,
    ConnectionErrorLog,
    error_text,
)
from determined_agent.link.hello import AgentIdentity, JoinTokenError, KnownState, hello
from determined_agent.link.host_identity import advertised_address
from determined_agent.link.streams import ReceiveSequence, SendQueue
from determined_agent.link.tls import TlsFileError, ssl_context, tls_error_text
from determined_agent.logs.shipper import Disconnected
from determined_agent.settings.options import Settings
from determined_wire.agent_link import (
    PROTOCOL,
    AgentAck,
    ContainerReport,
    ForgetContainer,
    FromMaster,
    Hello,
    LogBatch,
    LogStored,
    MachineEnding,
    MasterAck,
    Order,
    Ping,
    Pong,
    Refused,
    SignalContainer,
    StartContainer,
    UnreadableOrder,
    Welcome,
    unreadable_order,
)

log = logging.getLogger(__name__)

MAX_FRAME_BYTES = 128 * 1024**2
_WELCOME_S = 60.0
_ATTEMPTS = 5
"""If there is a hook for a lost connection, and no number of attempts is set."""


class MasterUnreachable(Exception):
    """The master was not reached in as many attempts as the settings allow."""


class JoinRefused(Exception):
    """The master refuses this agent permanently; the text gives the reason and the remedy."""

    def __init__(self, reason: str, unwanted: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.unwanted = unwanted
        """Containers of this agent that the master has given up."""


class _ConnectionFailed(Exception):
    """The connection failed or ended; the agent tries again."""


class Keepalive(msgspec.Struct, frozen=True, kw_only=True):
    """When this side considers a silent connection lost.

    That is well before the master gives the agent up, which takes its own timeout (45 s) and the
    pool's `agent_reconnect_wait`.
    """

    ping_s: float = 10.0
    answer_s: float = 20.0


KEEPALIVE = Keepalive()


class LinkHandler(Protocol):
    """The owner of the containers, as the link calls it."""

    def reports(self) -> tuple[ContainerReport, ...]:
        """Return the current state of all containers."""

    def newest_master(self) -> tuple[str, int]:
        """Return cluster and epoch of the newest master that was obeyed."""

    def welcome(self, welcome: Welcome) -> None:
        """Handle that a master has accepted the agent."""

    def handle_order(self, order: Order) -> None:
        """Carry an order out, or store it."""

    def refuse_order(self, order: UnreadableOrder) -> None:
        """Report that an order cannot be carried out, because it cannot be read."""

    def log_stored(self, message: LogStored) -> None:
        """Handle that the master has stored output."""

    def disconnected(self) -> None:
        """Handle the loss of the connection."""


class MasterLink:
    """The link to the master over successive connections."""

    def __init__(self, settings: Settings, identity: AgentIdentity) -> None:
        self._settings = settings
        self._identity = identity
        self._send_queue = SendQueue()
        self._received = ReceiveSequence()
        self._decoder = msgspec.json.Decoder(FromMaster)
        self._socket: ClientConnection | None = None
        self._count = 0
        self._is_up = asyncio.Event()
        self._has_messages = asyncio.Event()
        self._ending: MachineEnding | None = None
        self._limit = settings.agent_reconnect_attempts
        if self._limit is None and settings.hooks.on_connection_lost:
            self._limit = _ATTEMPTS
        self._backoff = ReconnectBackoff(self._limit, float(settings.agent_reconnect_backoff))
        self._address = f"{settings.master_host}:{settings.master_port}"
        repeat_after_s = REPEAT_AFTER_S if self._limit is None else 0.0
        self._errors = ConnectionErrorLog(self._address, repeat_after_s)

    @property
    def connection(self) -> int:
        """Number of the current connection; 0 if there is none."""
        return self._count if self._is_up.is_set() else 0

    async def connected(self) -> int:
        """Wait for a connection; return its number."""
        await self._is_up.wait()
        return self._count

    def report(self, report: ContainerReport) -> None:
        """Send a container's state reliably and in order."""
        self._send_queue.add(report)
        self._has_messages.set()

    def announce_end(self, reason: str) -> None:
        """Announce that this machine ends soon, on this connection and on each later one."""
        self._ending = MachineEnding(reason)
        self._has_messages.set()

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        """Send output over one connection. Raises Disconnected."""
        if self._socket is None or self.connection != connection:
            raise Disconnected
        try:
            await self._socket.send(msgspec.json.encode(batch))
        except ConnectionClosed as error:
            if self.connection == connection:
                self._is_up.clear()  # otherwise the caller would retry on it endlessly
            raise Disconnected from error

    async def run(self, handler: LinkHandler) -> None:
        """Keep a connection up.

        Raises:
            MasterUnreachable: after the configured number of attempts.
            JoinRefused: the master refuses this agent.
        """
        while True:
            try:
                await self._connection(handler)
            except _ConnectionFailed as error:
                line = self._errors.error_line(str(error), clock.monotonic_s())
                if line is not None:
                    log.warning(line)
            pause_s = self._backoff.next_pause_s(entropy.jitter())
            if pause_s is None:
                attempts = f"{self._limit} attempt{'' if self._limit == 1 else 's'}"
                raise MasterUnreachable(
                    f"the master at {self._address} was not reached in {attempts}"
                )
            await asyncio.sleep(pause_s)

    async def _connection(self, handler: LinkHandler) -> None:
        tls = self._settings.security.tls
        host = self._settings.master_host
        address = f"[{host}]" if ":" in host else host
        try:
            async with connect(
                f"{'wss' if tls.enabled else 'ws'}://{address}:{self._settings.master_port}/agents",
                ssl=ssl_context(tls),
                server_hostname=(tls.master_cert_name or None) if tls.enabled else None,
                compression=None,
                proxy=None,
                max_size=MAX_FRAME_BYTES,
                ping_interval=KEEPALIVE.ping_s,
                ping_timeout=KEEPALIVE.answer_s,
                open_timeout=10,
                close_timeout=2,
            ) as socket:
                await self._open(socket, handler)
                began_s = clock.monotonic_s()
                try:
                    await self._serve(socket, handler)
                finally:
                    self._backoff.disconnected(clock.monotonic_s() - began_s)
                    self._is_up.clear()
                    self._socket = None
                    handler.disconnected()
        except (TlsFileError, JoinTokenError) as error:  # files may be renewed until then
            raise _ConnectionFailed(str(error)) from error
        except (OSError, InvalidHandshake, ConnectionClosed, EOFError) as error:
            tls_error = tls_error_text(error, self._settings)
            raise _ConnectionFailed(tls_error or error_text(error)) from error
        except msgspec.DecodeError as error:
            raise _ConnectionFailed(f"the master sent an invalid frame: {error}") from error

    async def _open(self, socket: ClientConnection, handler: LinkHandler) -> None:
        local = socket.local_address
        address = advertised_address(self._settings.advertised_address, local[0] if local else "")
        await socket.send(msgspec.json.encode(self._hello(handler, address)))
        try:
            async with asyncio.timeout(_WELCOME_S):
                answer = self._decoder.decode(await socket.recv())
        except TimeoutError as error:
            raise _ConnectionFailed(f"no welcome within {_WELCOME_S:.0f} s") from error
        if isinstance(answer, Refused):
            if answer.is_final:
                raise JoinRefused(answer.reason, answer.unwanted)
            raise _ConnectionFailed(f"the master refused this agent: {answer.reason}")
        if not isinstance(answer, Welcome):
            kind = type(answer).__name__
            raise _ConnectionFailed(f"the master sent {kind} instead of a welcome")
        self._check(answer, handler)
        self._received.open(answer.cluster_id, answer.epoch)
        self._send_queue.acknowledge(answer.acknowledged)
        self._identity.key.accepted()
        handler.welcome(answer)
        self._backoff.joined()
        self._errors.connected()
        self._count += 1
        self._socket = socket
        self._is_up.set()
        log.info("joined", extra={"master": answer.master_id, "epoch": answer.epoch})

    def _hello(self, handler: LinkHandler, address: str) -> Hello:
        cluster_id, epoch = handler.newest_master()
        state = KnownState(containers=handler.reports(), cluster_id=cluster_id, epoch=epoch)
        return hello(self._settings, self._identity, state, self._received, address)

    def _check(self, welcome: Welcome, handler: LinkHandler) -> None:
        """Refuse a master of another protocol or of an older epoch."""
        if welcome.protocol != PROTOCOL:
            raise JoinRefused(
                f"the master ({welcome.version}) uses protocol {welcome.protocol} and this agent "
                f"({self._identity.version}) {PROTOCOL}: install the same version on both"
            )
        cluster_id, epoch = handler.newest_master()
        if cluster_id == welcome.cluster_id and welcome.epoch < epoch:
            raise _ConnectionFailed(
                f"a master of epoch {welcome.epoch} is out of date: this agent has obeyed one of "
                f"epoch {epoch}"
            )

    async def _serve(self, socket: ClientConnection, handler: LinkHandler) -> None:
        writing = asyncio.create_task(self._write(socket))
        try:
            async for frame in socket:
                try:
                    message = self._decoder.decode(frame)
                except msgspec.ValidationError as error:
                    await self._refuse(socket, unreadable_order(frame, str(error)), handler)
                else:
                    await self._receive(socket, message, handler)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        raise _ConnectionFailed("the master closed the connection")

    async def _receive(
        self, socket: ClientConnection, message: FromMaster, handler: LinkHandler
    ) -> None:
        match message:
            case StartContainer() | SignalContainer() | ForgetContainer():
                if message.epoch != self._received.epoch:
                    raise _ConnectionFailed(f"an order of epoch {message.epoch}, out of date")
                if self._received.is_new(message.number):
                    handler.handle_order(message)
                    self._received.done(message.number)
                await socket.send(msgspec.json.encode(AgentAck(message.number)))
            case MasterAck(number=number):
                self._send_queue.acknowledge(number)
            case LogStored():
                handler.log_stored(message)
            case Ping():
                await socket.send(msgspec.json.encode(Pong()))
            case Refused(reason=reason):
                raise _ConnectionFailed(f"the master ended the connection: {reason}")
            case Welcome():
                raise _ConnectionFailed("the master sent a second welcome")
            case _:
                assert_never(message)

    async def _refuse(
        self, socket: ClientConnection, order: UnreadableOrder, handler: LinkHandler
    ) -> None:
        """Refuse one order and stay connected: the master would send it again each time."""
        if order.epoch != self._received.epoch:
            raise _ConnectionFailed(f"an order of epoch {order.epoch}, out of date")
        if self._received.is_new(order.number):
            handler.refuse_order(order)
            self._received.done(order.number)
        await socket.send(msgspec.json.encode(AgentAck(order.number)))

    async def _write(self, socket: ClientConnection) -> None:
        last = 0
        announced: MachineEnding | None = None
        while True:
            self._has_messages.clear()
            if self._ending is not None and announced is not self._ending:
                announced = self._ending
                await socket.send(msgspec.json.encode(announced))
            for message in self._send_queue.after(last):
                await socket.send(msgspec.json.encode(message))
                last = message.number
            await self._has_messages.wait()
