"""The link to the master: opening it, keeping it, and what passes over it.

The agent dials. When the socket is lost it dials again, for ever unless told otherwise, and
both sides send again what the other has not acknowledged.
"""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Protocol, assert_never

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from determined_agent import clock, entropy
from determined_agent.link.connection_errors import TELL_AGAIN_S, Complaints, in_words
from determined_agent.link.own_account import own_account
from determined_agent.link.own_address import own_address
from determined_agent.link.streams import Inbox, Outbox
from determined_agent.link.tls import BadTlsFile, link_context, problem_in_words
from determined_agent.logs.shipper import Disconnected
from determined_agent.settings.options import Settings
from determined_wire.agent_link import (
    PROTOCOL,
    AgentAck,
    ContainerReport,
    Device,
    ForgetContainer,
    FromMaster,
    Hello,
    LogBatch,
    LogStored,
    MasterAck,
    Order,
    Ping,
    Pong,
    Refused,
    SignalContainer,
    StartContainer,
    Welcome,
)

log = logging.getLogger(__name__)

MAX_FRAME_BYTES = 128 * 1024**2
_WELCOME_S = 60.0
_FIRST_PAUSE_S = 0.1
_LONGEST_PAUSE_S = 10.0
"""Well within the pool's `agent_reconnect_wait` (25 s), which begins when the master lets agents
in again: who dials later finds its tasks given up."""
_MOST_DOUBLINGS = 7
_EAGER_DOUBLINGS = 3
_EAGER_ATTEMPTS = 70
"""A master that starts again is back within seconds: for about a minute pauses stay below one."""
_LASTING_S = 10.0
"""A connection that ends before is no reason to dial again at once."""
_SHORT_LIVED_DOUBLINGS = 5
"""After many such: a few seconds, for the master waits as above."""
_ATTEMPTS = 5
"""With a hook for a lost connection and no number of attempts set."""


class GivenUp(Exception):
    """The master was not reached in as many attempts as the settings allow."""


class JoinRefused(Exception):
    """The master does not want this agent; the text tells why and what to do."""

    def __init__(self, reason: str, unwanted: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.unwanted = unwanted
        """Containers here that the master has given up."""


class _Interrupted(Exception):
    """The connection failed or ended; it is tried again."""


class Keepalive(msgspec.Struct, frozen=True, kw_only=True):
    """When this end takes a silent connection for lost.

    Well before the master gives the agent up: that takes its own look at the silence (45 s) and
    the pool's `agent_reconnect_wait`.
    """

    ping_s: float = 10.0
    answer_s: float = 20.0


KEEPALIVE = Keepalive()


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What this agent says of itself."""

    boot_id: str
    """New at each start of the process."""
    version: str
    hostname: str
    devices: tuple[Device, ...]


class Containers(Protocol):
    """Who keeps the containers."""

    def reports(self) -> tuple[ContainerReport, ...]:
        """All containers as they are now."""

    def newest_master(self) -> tuple[str, int]:
        """Cluster and epoch of the newest master that was obeyed."""

    def welcome(self, welcome: Welcome) -> None:
        """A master is in."""

    def obey(self, order: Order) -> None:
        """Carry an order out, or store it."""

    def log_stored(self, message: LogStored) -> None:
        """The master has stored output."""

    def disconnected(self) -> None:
        """The connection is gone."""


class Link:
    """The connection to the master, whichever it is at the moment."""

    def __init__(self, settings: Settings, identity: Identity) -> None:
        self._settings = settings
        self._identity = identity
        self._outbox = Outbox()
        self._inbox = Inbox()
        self._decoder = msgspec.json.Decoder(FromMaster)
        self._socket: ClientConnection | None = None
        self._count = 0
        self._is_up = asyncio.Event()
        self._news = asyncio.Event()
        self._failures = 0
        self._limit = settings.agent_reconnect_attempts
        if self._limit is None and settings.hooks.on_connection_lost:
            self._limit = _ATTEMPTS
        where = f"{settings.master_host}:{settings.master_port}"
        self._complaints = Complaints(where, TELL_AGAIN_S if self._limit is None else 0.0)
        self._short_lived = 0
        """Connections in a row that did not last."""

    @property
    def connection(self) -> int:
        """Number of the connection that is up, 0 when none is."""
        return self._count if self._is_up.is_set() else 0

    async def connected(self) -> int:
        """Wait until a connection is up; its number."""
        await self._is_up.wait()
        return self._count

    def report(self, report: ContainerReport) -> None:
        """Tell the master a container's state, for sure and in order."""
        self._outbox.add(report)
        self._news.set()

    async def send_logs(self, connection: int, batch: LogBatch) -> None:
        """Send output over one connection. Raises Disconnected."""
        if self._socket is None or self.connection != connection:
            raise Disconnected
        try:
            await self._socket.send(msgspec.json.encode(batch))
        except ConnectionClosed as error:
            if self.connection == connection:
                self._is_up.clear()  # else its sender would find it up and try again for ever
            raise Disconnected from error

    async def run(self, containers: Containers) -> None:
        """Keep a connection up.

        Raises:
            GivenUp: after the configured number of attempts.
            JoinRefused: the master does not want this agent.
        """
        while True:
            try:
                await self._connection(containers)
            except _Interrupted as error:
                line = self._complaints.failed(str(error), clock.monotonic_s())
                if line is not None:
                    log.warning(line)
            self._failures += 1
            await asyncio.sleep(self._pause_s())

    def _pause_s(self) -> float:
        settings, limit = self._settings, self._limit
        if limit is None:
            return pause_after_s(self._failures, self._short_lived) * (0.5 + entropy.jitter() / 2)
        if self._failures > limit:
            where = f"{settings.master_host}:{settings.master_port}"
            attempts = f"{limit} attempt{'' if limit == 1 else 's'}"
            raise GivenUp(f"the master at {where} was not reached in {attempts}")
        return float(settings.agent_reconnect_backoff)

    async def _connection(self, containers: Containers) -> None:
        tls = self._settings.security.tls
        host = self._settings.master_host
        shown = f"[{host}]" if ":" in host else host
        try:
            async with connect(
                f"{'wss' if tls.enabled else 'ws'}://{shown}:{self._settings.master_port}/agents",
                ssl=link_context(tls),
                server_hostname=(tls.master_cert_name or None) if tls.enabled else None,
                compression=None,
                proxy=None,
                max_size=MAX_FRAME_BYTES,
                ping_interval=KEEPALIVE.ping_s,
                ping_timeout=KEEPALIVE.answer_s,
                open_timeout=10,
                close_timeout=2,
            ) as socket:
                await self._open(socket, containers)
                began_s = clock.monotonic_s()
                try:
                    await self._serve(socket, containers)
                finally:
                    lasted = clock.monotonic_s() - began_s > _LASTING_S
                    self._short_lived = 0 if lasted else self._short_lived + 1
                    self._is_up.clear()
                    self._socket = None
                    containers.disconnected()
        except BadTlsFile as error:  # files are renewed while the agent runs
            raise _Interrupted(str(error)) from error
        except (OSError, InvalidHandshake, ConnectionClosed, EOFError) as error:
            known = problem_in_words(error, self._settings)
            raise _Interrupted(known or in_words(error)) from error
        except msgspec.DecodeError as error:
            raise _Interrupted(f"the master sent a frame that is none: {error}") from error

    async def _open(self, socket: ClientConnection, containers: Containers) -> None:
        local = socket.local_address
        address = own_address(self._settings.advertised_address, local[0] if local else "")
        await socket.send(msgspec.json.encode(self._hello(containers, address)))
        try:
            async with asyncio.timeout(_WELCOME_S):
                answer = self._decoder.decode(await socket.recv())
        except TimeoutError as error:
            raise _Interrupted(f"no welcome within {_WELCOME_S:.0f} s") from error
        if isinstance(answer, Refused):
            if answer.is_final:
                raise JoinRefused(answer.reason, answer.unwanted)
            raise _Interrupted(f"the master refused this agent: {answer.reason}")
        if not isinstance(answer, Welcome):
            raise _Interrupted(f"instead of a welcome the master sent {type(answer).__name__}")
        if answer.protocol != PROTOCOL:
            raise JoinRefused(
                f"the master ({answer.version}) speaks protocol {answer.protocol} and this agent "
                f"({self._identity.version}) {PROTOCOL}: install the same version on both"
            )
        cluster_id, epoch = containers.newest_master()
        if cluster_id == answer.cluster_id and answer.epoch < epoch:
            raise _Interrupted(
                f"a master of epoch {answer.epoch} is out of date: this agent has obeyed one of "
                f"epoch {epoch}"
            )
        self._inbox.open(answer.cluster_id, answer.epoch)
        self._outbox.acknowledge(answer.acknowledged)
        containers.welcome(answer)
        self._failures = 0
        self._complaints.connected()
        self._count += 1
        self._socket = socket
        self._is_up.set()
        log.info("joined", extra={"master": answer.master_id, "epoch": answer.epoch})

    def _hello(self, containers: Containers, address: str) -> Hello:
        cluster_id, epoch = containers.newest_master()
        return Hello(
            protocol=PROTOCOL,
            agent_id=self._settings.agent_id,
            boot_id=self._identity.boot_id,
            version=self._identity.version,
            resource_pool=self._settings.resource_pool or "default",
            hostname=self._identity.hostname,
            address=address,
            devices=self._identity.devices,
            containers=containers.reports(),
            join_token=_join_token(self._settings),
            runtime=self._settings.container_runtime,
            acknowledged_epoch=epoch,
            acknowledged=self._inbox.last if self._inbox.epoch == epoch else 0,
            cluster_id=cluster_id,
            sent_at_us=int(clock.now().timestamp() * 1e6),
            account=own_account() if self._settings.container_runtime == "process" else "",
        )

    async def _serve(self, socket: ClientConnection, containers: Containers) -> None:
        writing = asyncio.create_task(self._write(socket))
        try:
            async for frame in socket:
                await self._receive(socket, self._decoder.decode(frame), containers)
        finally:
            writing.cancel()
            await asyncio.gather(writing, return_exceptions=True)
        raise _Interrupted("the master closed the connection")

    async def _receive(
        self, socket: ClientConnection, message: FromMaster, containers: Containers
    ) -> None:
        match message:
            case StartContainer() | SignalContainer() | ForgetContainer():
                if message.epoch != self._inbox.epoch:
                    raise _Interrupted(f"an order of epoch {message.epoch}, out of date")
                if self._inbox.is_new(message.number):
                    containers.obey(message)
                    self._inbox.done(message.number)
                await socket.send(msgspec.json.encode(AgentAck(message.number)))
            case MasterAck(number=number):
                self._outbox.acknowledge(number)
            case LogStored():
                containers.log_stored(message)
            case Ping():
                await socket.send(msgspec.json.encode(Pong()))
            case Refused(reason=reason):
                raise _Interrupted(f"the master ended the connection: {reason}")
            case Welcome():
                raise _Interrupted("a second welcome of the master")
            case _:
                assert_never(message)

    async def _write(self, socket: ClientConnection) -> None:
        last = 0
        while True:
            self._news.clear()
            for message in self._outbox.after(last):
                await socket.send(msgspec.json.encode(message))
                last = message.number
            await self._news.wait()


def pause_after_s(failures: int, short_lived: int) -> float:
    """The longest pause before the next attempt, in seconds.

    Args:
        failures: attempts in a row that failed. The pause is doubled thrice at most for the first
            minute, then once more with each attempt.
        short_lived: connections in a row that ended soon after the master had let the agent in.
    """
    failed = min(failures, _EAGER_DOUBLINGS) + max(failures - _EAGER_ATTEMPTS, 0)
    doublings = max(failed, min(short_lived, _SHORT_LIVED_DOUBLINGS))
    return min(_LONGEST_PAUSE_S, _FIRST_PAUSE_S * 2.0 ** min(doublings, _MOST_DOUBLINGS))


def _join_token(settings: Settings) -> str:
    """The token, read anew at each attempt where it lies in a file."""
    if settings.join_token or not settings.join_token_file:
        return settings.join_token
    file = settings.join_token_file
    try:
        token = Path(file).read_text().strip()
    except OSError as error:
        raise _Interrupted(
            f"join_token_file {file} cannot be read: {error.strerror}; name a "
            "file that the agent may read, with what `det agent token` prints"
        ) from error
    if not token:  # who made it is about to fill it; to ask without one would be the end
        raise _Interrupted(
            f"join_token_file {file} is empty; write into it what `det agent token` prints"
        )
    return token
