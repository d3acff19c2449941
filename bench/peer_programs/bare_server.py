"""The least that a server of these parts can do: one route, one statement, no access control.

uvicorn, uvloop, asyncpg and msgspec, as the master uses them. Reads answer with the text that
PostgreSQL made. Writes are answered after their COPY has committed; those that wait together
share a transaction.

Argument: port. BARE_DATABASE is a JSON object of connection options.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any

import asyncpg
import msgspec
import uvicorn

READS = {
    "/me": """
        SELECT to_json(u)::text FROM (SELECT id, username, admin, active FROM users LIMIT 1) u
    """,
    "/trial": "SELECT to_json(t)::text FROM trials t WHERE id = $1",
    "/experiment": "SELECT to_json(e)::text FROM experiments e WHERE id = $1",
    "/runs": """
        SELECT json_agg(x)::text FROM (
            SELECT r.*, t.hparams, t.summary_metrics, e.name, e.labels, e.resource_pool
              FROM runs r JOIN trials t ON t.id = r.id JOIN experiments e ON e.id = r.experiment_id
             WHERE NOT r.archived ORDER BY r.id LIMIT $1) x
    """,
    "/series": """
        SELECT json_agg(json_build_object('batches', steps, 'time', reported_at, 'values',
                                          json_build_object('loss', metrics->'loss'))
                        ORDER BY steps)::text
          FROM metrics WHERE trial_id = $1 AND metric_group = 'training'
    """,
}
MAX_WAITING = 1000
Send = Callable[[dict[str, Any]], Awaitable[None]]


class Writer:
    """Copies rows of requests that wait together in one transaction."""

    def __init__(self, pool: asyncpg.Pool, table: str, columns: list[str]) -> None:
        self._pool = pool
        self._target = {"table_name": table, "columns": columns}
        self._waiting: asyncio.Queue[tuple[list[Any], asyncio.Future[None]]] = asyncio.Queue()

    async def write(self, rows: list[Any]) -> None:
        """Store rows; returns after their commit."""
        done = asyncio.get_running_loop().create_future()
        await self._waiting.put((rows, done))
        await done

    async def run(self) -> None:
        async with self._pool.acquire() as conn:
            while True:
                batch = [await self._waiting.get()]
                while len(batch) < MAX_WAITING and not self._waiting.empty():
                    batch.append(self._waiting.get_nowait())
                records = [row for rows, _ in batch for row in rows]
                await conn.copy_records_to_table(**self._target, records=records)
                for _, done in batch:
                    done.set_result(None)


class App:
    """An ASGI application."""

    def __init__(self, options: dict[str, Any]) -> None:
        self._options = options
        self._tasks: list[asyncio.Task[None]] = []

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        path = scope["path"]
        if scope["method"] == "GET":
            text = await self._read(path, scope["query_string"])
        else:
            text = await self._write(path, msgspec.json.decode(await _body(receive)))
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(text))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": text})

    async def _read(self, path: str, query: bytes) -> bytes:
        values = [int(query)] if query else []
        async with self._pool.acquire() as conn:
            text: str = await conn.fetchval(READS[path], *values)
        return text.encode()

    async def _write(self, path: str, body: dict[str, Any]) -> bytes:
        now = datetime.now(UTC)
        if path == "/report":
            report = body["metrics"]
            row = (report["trialId"], report["stepsCompleted"], now,
                   json.dumps(report["metrics"]["avgMetrics"]))  # fmt: skip
            await self._reports.write([row])
        else:
            await self._lines.write([(line["taskId"], now, line["log"]) for line in body["logs"]])
        return b"{}"

    async def _live(self, receive: Any, send: Send) -> None:
        await receive()
        self._pool = await asyncpg.create_pool(**self._options, min_size=4, max_size=4)
        async with self._pool.acquire() as conn:
            await conn.execute("""
                DROP TABLE IF EXISTS bare_reports, bare_lines;
                CREATE TABLE bare_reports (id bigserial PRIMARY KEY, trial_id int, steps int,
                                           at timestamptz, metrics jsonb);
                CREATE INDEX ON bare_reports (trial_id, steps);
                CREATE TABLE bare_lines (id bigserial PRIMARY KEY, task_id text, at timestamptz,
                                         line text);
                CREATE INDEX ON bare_lines (task_id, id)
            """)
        self._reports = Writer(self._pool, "bare_reports", ["trial_id", "steps", "at", "metrics"])
        self._lines = Writer(self._pool, "bare_lines", ["task_id", "at", "line"])
        self._tasks = [asyncio.create_task(w.run()) for w in (self._reports, self._lines)]
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for task in self._tasks:
            task.cancel()
        async with self._pool.acquire() as conn:
            await conn.execute("DROP TABLE bare_reports, bare_lines")
        await send({"type": "lifespan.shutdown.complete"})


async def _body(receive: Any) -> bytes:
    pieces = []
    while True:
        message = await receive()
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


def main() -> None:
    """Serve until SIGTERM."""
    port, options = int(sys.argv[1]), json.loads(os.environ["BARE_DATABASE"])
    uvicorn.run(
        App(options),
        host="127.0.0.1",
        port=port,
        loop="uvloop",
        http="httptools",
        log_level="critical",  # a load ends in the middle of requests
        access_log=False,
    )


if __name__ == "__main__":
    main()
