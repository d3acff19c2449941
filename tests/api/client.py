"""Calls the ASGI application in process, as a server would."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from determined_master.api.http.exchange import Asgi

DEADLINE_S = 60


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    pieces: tuple[bytes, ...] = field(repr=False, default=())

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        """The error's text in either family."""
        parsed = self.json()
        return parsed["message"] if "message" in parsed else parsed["error"]["error"]


class Client:
    """One caller; `token` may be replaced at any time."""

    def __init__(self, app: Asgi, token: str = "") -> None:
        self.app = app
        self.token = token

    async def __call__(
        self,
        method: str,
        target: str,
        body: Any = None,
        *,
        headers: Mapping[str, str] | None = None,
        pieces: Iterable[bytes] | None = None,
    ) -> Answer:
        raw = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body)
        raw = raw.encode() if isinstance(raw, str) else raw
        path, _, query = target.partition("?")
        sent = {"host": "test", **{k.lower(): v for k, v in (headers or {}).items()}}
        if self.token and not {"authorization", "cookie"} & sent.keys():
            sent["authorization"] = f"Bearer {self.token}"
        if raw and pieces is None:
            sent.setdefault("content-length", str(len(raw)))
        scope = {
            "type": "http",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode()) for k, v in sent.items()],
        }
        return await asyncio.wait_for(self._run(scope, list(pieces or [raw])), DEADLINE_S)

    async def _run(self, scope: dict[str, Any], pieces: list[bytes]) -> Answer:
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if pieces:
                piece = pieces.pop(0)
                return {"type": "http.request", "body": piece, "more_body": bool(pieces)}
            return await asyncio.get_running_loop().create_future()

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start, *rest = sent
        bodies = tuple(m.get("body", b"") for m in rest)
        assert not rest[-1].get("more_body"), "the answer has no end"
        headers = {k.decode(): v.decode() for k, v in start["headers"]}
        return Answer(start["status"], headers, b"".join(bodies), bodies)
