"""Stands between a master and a real API server: answers some calls itself, with failures."""

from __future__ import annotations

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import yaml
from aiohttp import ClientSession, TCPConnector, web
from yarl import URL

_KIND = re.compile(r"/(?:api/v1|apis/[^/]+/[^/]+)(?:/namespaces/[^/]+(?=/))?/([a-z]+)")


class FaultProxy:
    """Serves HTTP on a port of this machine; has the faults of `FakeServer` by the same names."""

    def __init__(self, kubeconfig: str) -> None:
        config = yaml.safe_load(Path(kubeconfig).read_text())
        self._target: str = config["clusters"][0]["cluster"]["server"]
        self.token: str = config["users"][0]["user"]["token"]
        self.failures: list[tuple[str, str, web.Response]] = []
        """Answers to one call each: method, kind (or `log`) and the answer."""
        self._streams: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._session: ClientSession | None = None
        self.port = 0

    async def start(self) -> None:
        self._session = ClientSession(connector=TCPConnector(ssl=False, limit=0))
        app = web.Application(client_max_size=2**23)
        app.router.add_route("*", "/{path:.*}", self._pass)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        self.break_streams()
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()

    def kubeconfig(self, path: Path) -> Path:
        """A file by which the API server is reached through here."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{self.port}"}}],
            "users": [{"name": "u", "user": {"token": self.token}}],
            "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "c",
        }
        path.write_text(json.dumps(config))
        return path

    def fail_once(
        self, method: str, kind: str, code: int, reason: str, message: str, **headers: str
    ) -> None:
        """Answer the next call of that method and kind with a failure."""
        body = {"kind": "Status", "status": "Failure", "reason": reason, "message": message}
        answer = web.json_response({**body, "code": code}, status=code)
        answer.headers.update({name.replace("_", "-"): text for name, text in headers.items()})
        self.failures.append((method, kind, answer))

    def break_streams(self) -> None:
        """End all watches and logs that are followed."""
        for stream in list(self._streams):
            stream.cancel()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        failure = self._failure(request)
        if failure is not None:
            return failure
        assert self._session is not None
        kept = ("Authorization", "Content-Type", "Accept")
        headers = {name: request.headers[name] for name in kept if name in request.headers}
        url = URL(f"{self._target}{request.raw_path}", encoded=True)
        data = await request.read()
        task = asyncio.current_task()
        assert task is not None
        async with self._session.request(
            request.method, url, data=data or None, headers=headers
        ) as answer:
            passed = {k: v for k, v in answer.headers.items() if k in ("Content-Type", "Date")}
            response = web.StreamResponse(status=answer.status, headers=passed)
            await response.prepare(request)
            self._streams.add(task)
            try:
                async for piece in answer.content.iter_any():
                    await response.write(piece)
            finally:
                self._streams.discard(task)
            return response

    def _failure(self, request: web.Request) -> web.Response | None:
        found = _KIND.match(request.path)
        kind = "log" if request.path.endswith("/log") else found[1] if found else ""
        for number, (method, of, answer) in enumerate(self.failures):
            if (method, of) == (request.method, kind):
                del self.failures[number]
                return answer
        return None
