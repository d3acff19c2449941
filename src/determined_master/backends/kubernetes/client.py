"""Calls of a Kubernetes API server: paths in, JSON out.

kubernetes-asyncio does the authentication (kubeconfig files, plugins, the account of the master's
own pod); it is imported when a cluster is first used. Its models are not used: the backend reads
few fields, and passes on what the server sends unchanged.
"""

from __future__ import annotations

import asyncio
import importlib
import io
import json
from collections.abc import AsyncGenerator, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from determined_master import clock
from determined_master.backends.kubernetes.answer_heads import (
    MAX_TRIES,
    clock_ahead,
    pause_before_repeat,
)
from determined_master.domain.errors import DetError
from determined_master.domain.pods.rejections import is_never_stored

MERGE_PATCH = "application/merge-patch+json"
Json = dict[str, Any]

_STREAM_CONNECT_S = 20.0
_HEARTBEAT_S = 30.0
_LARGE_BYTES = 2**20
_decoder = msgspec.json.Decoder()


class KubernetesUnusable(DetError):
    """The cluster cannot be used at all; the text has the remedy."""

    code = "failed_precondition"


class KubernetesUnreachable(Exception):
    """The API server does not answer, or reports that it cannot answer now."""


class KubernetesRefused(Exception):
    """The API server has refused a request.

    Attributes: status: of HTTP. reason: Kubernetes' own word, such as `AlreadyExists`; may be
    empty. causes: its words for the causes, such as `NamespaceTerminating`.
    """

    def __init__(
        self, status: int, reason: str, message: str, causes: frozenset[str] = frozenset()
    ) -> None:
        super().__init__(message or reason or f"HTTP {status}")
        self.status = status
        self.reason = reason
        self.causes = causes


class KubernetesApi:
    """A connection pool to one API server."""

    def __init__(self, kubeconfig_path: str = "", *, call_s: float = 20.0) -> None:
        """
        Args:
            kubeconfig_path: a file; empty for the account of the master's own pod.
            call_s: how long one answer may take.
        """
        self._path = kubeconfig_path
        self._call_s = call_s
        self._client: Any = None
        self._lock = asyncio.Lock()
        self._clock_ahead = timedelta()
        """Of the server's clock, before ours."""

    def now(self) -> datetime:
        """The current instant by the server's clock, which its objects have their times from."""
        return clock.now() + self._clock_ahead

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Any = None,
        content_type: str = "application/json",
    ) -> Json:
        """Send one request and return its answer.

        One that the server wants later (`Retry-After`) is repeated then, as long as it may take.

        Raises:
            Unreachable: no answer, or one of the server's own failures. Refused: any other.
        """
        await self._connected()  # importing its library takes seconds, which the timeout excludes
        until_s = clock.monotonic_s() + self._call_s
        try:
            async with asyncio.timeout(self._call_s):
                for tries in range(1, MAX_TRIES + 1):
                    response = await self._open(method, path, query, body, content_type)
                    async with response:
                        data = await response.read()
                    pause_s = pause_before_repeat(response.status, response.headers)
                    if pause_s is None or tries == MAX_TRIES:
                        break
                    if clock.monotonic_s() + pause_s >= until_s:
                        break
                    await asyncio.sleep(pause_s)
        except (OSError, TimeoutError) as error:
            raise KubernetesUnreachable(
                f"{method} {path}: {error or type(error).__name__}"
            ) from error
        except self._errors() as error:
            raise KubernetesUnreachable(f"{method} {path}: {error}") from error
        _raise_for(response.status, data, f"{method} {path}")
        return _object(data)

    async def stream(
        self, path: str, query: Mapping[str, str], *, idle_s: float
    ) -> AsyncGenerator[bytes]:
        """The pieces of a long answer, as they arrive.

        It ends where the server ends it. Close it (`contextlib.aclosing`) to stop. Without data
        for `idle_s` it counts as broken, since a connection may be lost silently.

        Raises:
            Unreachable: no answer, or it broke. Refused: the server does not give it.
        """
        await self._connected()
        try:
            async with asyncio.timeout(_STREAM_CONNECT_S):
                response = await self._open("GET", path, query, None, "application/json")
            async with response:
                try:
                    if response.status >= 300:
                        _raise_for(response.status, await response.read(), f"GET {path}")
                    while piece := await _next_piece(response, idle_s):
                        yield piece
                finally:
                    _abort(response)
        except (OSError, TimeoutError) as error:
            raise KubernetesUnreachable(f"GET {path}: {error or type(error).__name__}") from error
        except self._errors() as error:
            raise KubernetesUnreachable(f"GET {path}: {error}") from error

    async def web_socket(self, path: str, query: Mapping[str, str], protocol: str) -> Any:
        """A WebSocket of aiohttp's; the caller closes it.

        Raises:
            Unreachable: no answer, or one of the server's own failures. Refused: any other.
        """
        client = await self._connected()
        headers: dict[str, str] = {}
        await client.update_params_for_auth(headers, [], ["BearerToken"])
        rest, kubernetes = client.rest_client, client.configuration
        aiohttp = importlib.import_module("aiohttp")
        try:
            async with asyncio.timeout(_STREAM_CONNECT_S):
                return await rest.pool_manager.ws_connect(
                    f"{kubernetes.host}{path}",
                    params=dict(query),
                    headers=headers,
                    protocols=(protocol,),
                    heartbeat=_HEARTBEAT_S,
                    max_msg_size=0,
                    proxy=rest.proxy,
                    server_hostname=kubernetes.tls_server_name or None,
                )
        except aiohttp.WSServerHandshakeError as error:
            _raise_for(error.status, b"", f"GET {path}: {error.message}")
            raise KubernetesUnreachable(f"GET {path}: {error.message}") from error
        except (OSError, TimeoutError) as error:
            raise KubernetesUnreachable(f"GET {path}: {error or type(error).__name__}") from error
        except self._errors() as error:
            raise KubernetesUnreachable(f"GET {path}: {error}") from error

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _open(
        self, method: str, path: str, query: Mapping[str, str] | None, body: Any, kind: str
    ) -> Any:
        """Send a request; return when the answer's headers are there.

        A refused token is read again.
        """
        for is_last in (False, True):
            client = await self._connected()
            headers = {"Accept": "application/json", "Content-Type": kind}
            await client.update_params_for_auth(headers, [], ["BearerToken"])
            kubernetes = client.configuration
            rest = client.rest_client
            options: dict[str, Any] = {"proxy": rest.proxy} if rest.proxy else {}
            if kubernetes.tls_server_name:
                options["server_hostname"] = kubernetes.tls_server_name
            response = await rest.pool_manager.request(
                method,
                f"{kubernetes.host}{path}",
                params=dict(query or {}),
                data=_encoded(body),
                headers=headers,
                timeout=_without_total(),
                **options,
            )
            ahead = clock_ahead(response.headers, clock.now())
            self._clock_ahead = self._clock_ahead if ahead is None else ahead
            if response.status != 401 or is_last:
                return response
            response.release()
            await self.close()
        raise AssertionError("the second answer is returned")

    async def _connected(self) -> Any:
        async with self._lock:
            if self._client is None:
                self._client = await self._connect()
            return self._client

    async def _connect(self) -> Any:
        client, config = await asyncio.to_thread(_library)
        settings = client.Configuration()
        settings.connection_pool_maxsize = 0  # each followed log keeps one
        try:
            if self._path:
                await config.load_kube_config(
                    config_file=self._path, client_configuration=settings, persist_config=False
                )
            else:
                config.load_incluster_config(client_configuration=settings)
        except (config.ConfigException, OSError) as error:
            what = f"the kubeconfig {self._path}" if self._path else "the pod's own account"
            raise KubernetesUnusable(
                f"{what} cannot be used: {error}; set resource_manager.kubeconfig_path to a "
                "kubeconfig that reaches the cluster, or leave it empty where the master runs in "
                "a pod of it"
            ) from error
        return client.ApiClient(configuration=settings)

    def _errors(self) -> type[Exception]:
        aiohttp = importlib.import_module("aiohttp")
        client_error: type[Exception] = aiohttp.ClientError
        return client_error


def _library() -> tuple[Any, Any]:
    """The modules of kubernetes-asyncio. The first import takes a second."""
    try:
        client = importlib.import_module("kubernetes_asyncio.client")
        config = importlib.import_module("kubernetes_asyncio.config")
    except ImportError as error:
        raise KubernetesUnusable(
            "resource_manager.type is kubernetes and the package kubernetes-asyncio is not "
            "installed: install determined-platform[master,kubernetes]"
        ) from error
    return client, config


async def _next_piece(response: Any, idle_s: float) -> bytes:
    """The received bytes, empty at the end."""
    async with asyncio.timeout(idle_s):
        piece: bytes = await response.content.readany()
        return piece


def _encoded(body: Any) -> bytes | io.BytesIO | None:
    """A body as JSON. A large one, such as a full Secret's, is sent in pieces."""
    if body is None:
        return None
    data = json.dumps(body).encode()
    return data if len(data) < _LARGE_BYTES else io.BytesIO(data)


def _abort(response: Any) -> None:
    """Close the connection of an answer that is not read to its end.

    Closing TLS otherwise waits for the server, which first sends what it still has to send.
    """
    connection = response.connection
    if connection is not None and connection.transport is not None:
        connection.transport.abort()


def _without_total() -> Any:
    aiohttp = importlib.import_module("aiohttp")
    return aiohttp.ClientTimeout(total=None, sock_connect=10)


def _raise_for(status: int, data: bytes, what: str) -> None:
    if status < 300:
        return
    status_object = _object(data)
    message = str(status_object.get("message") or data[:500].decode("utf-8", "replace"))
    if status == 429 or (status >= 500 and not is_never_stored(message)):
        raise KubernetesUnreachable(f"{what}: HTTP {status} {message}")
    behind = (status_object.get("details") or {}).get("causes") or ()
    causes = frozenset(str(cause.get("reason")) for cause in behind)
    raise KubernetesRefused(status, str(status_object.get("reason") or ""), message, causes)


def _object(data: bytes) -> Json:
    try:
        document = _decoder.decode(data)
    except msgspec.DecodeError:
        return {}
    return document if isinstance(document, dict) else {}
