"""Delivers the events of webhooks: in order in each lane, each lane on its own."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import logging
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.webhooks.events import WebhookEvent, body_of, signature
from determined_master.domain.webhooks.retries import BACKOFF, GIVEN_UP_AFTER, is_final
from determined_master.ports.posts import PostFailed
from determined_master.store.connection_errors import DATABASE_ERRORS
from determined_master.store.webhooks import deliveries as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.webhooks.events import WebhookType
    from determined_master.ports.posts import HttpPosts
    from determined_master.records.webhooks import DeliveryRow

log = logging.getLogger(__name__)
LOOK_S = 5.0
"""The longest time between two looks at what is due."""
MAX_AT_ONCE = 200
MAX_OF_ONE = 4
"""Deliveries of one webhook at the same time: a slow server holds up no other one."""


def signing_key(secret: bytes) -> str:
    """The key of a cluster whose settings name none: the same at each start."""
    return hmac.new(secret, b"webhooks", hashlib.sha256).hexdigest()


class Deliveries:
    """The deliveries of a leading master. A repeated one has the same `event_id`."""

    def __init__(
        self,
        db: asyncpg.Pool,
        poster: HttpPosts,
        key: str,
        base_url: str,
        is_leading: Callable[[], bool],
    ) -> None:
        """
        Args:
            db: the database.
            poster: sends requests.
            key: for signatures.
            base_url: of the master's pages, for links; empty for none.
            is_leading: whether this process leads; another one delivers when it does not.
        """
        self._is_leading = is_leading
        self._db = db
        self._poster = poster
        self._key = key
        self._base_url = base_url
        self._wake = asyncio.Event()
        self._running: dict[tuple[int, str], asyncio.Task[None]] = {}

    def wake(self) -> None:
        """There may be something to deliver."""
        self._wake.set()

    async def run(self) -> None:
        """Deliver until cancelled."""
        try:
            while True:
                self._wake.clear()
                wait_s = LOOK_S
                with contextlib.suppress(*DATABASE_ERRORS):
                    wait_s = await self._start_due()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(wait_s):
                        await self._wake.wait()
        finally:
            for task in tuple(self._running.values()):
                task.cancel()

    async def send(self, event: WebhookEvent, url: str, type: WebhookType) -> int:
        """Post an event once.

        Returns:
            The status of the answer.

        Raises:
            PostFailed: there is no answer.
        """
        body = body_of(event, type, self._base_url)
        now = int(clock.now().timestamp())
        headers = {
            "Content-Type": "application/json; charset=UTF-8",
            "X-Determined-AI-Signature-Timestamp": str(now),
            "X-Determined-AI-Signature": signature(self._key, now, body),
        }
        return await self._poster.post(url, headers, body)

    async def _start_due(self) -> float:
        """Start what is due, as far as there is room; seconds until the next look."""
        if not self._is_leading():
            return LOOK_S
        async with self._db.acquire() as conn:
            heads = await rows.list_heads(conn, 10 * MAX_AT_ONCE)
        now = clock.now()
        counts = Counter(webhook_id for webhook_id, _ in self._running)
        waits = [LOOK_S]
        for head in heads:
            lane = head.webhook_id, head.lane
            is_full = len(self._running) >= MAX_AT_ONCE or counts[head.webhook_id] >= MAX_OF_ONE
            if lane in self._running or is_full:
                continue  # the end of a delivery wakes
            if head.due_at > now:
                waits.append((head.due_at - now).total_seconds())
                continue
            counts[head.webhook_id] += 1
            self._running[lane] = asyncio.create_task(self._deliver(head))
        return max(0.01, min(waits))

    async def _deliver(self, row: DeliveryRow) -> None:
        try:
            await self._settle(row, await self._attempt(row))
        except DATABASE_ERRORS:
            pass  # it is delivered again, with the same id
        finally:
            del self._running[row.webhook_id, row.lane]
            self._wake.set()

    async def _attempt(self, row: DeliveryRow) -> tuple[str, bool]:
        """Post once.

        Returns:
            What failed, empty when nothing did; and whether another try cannot succeed.
        """
        try:
            event = msgspec.convert(row.event, WebhookEvent)
            status = await self.send(event, row.url, row.type)
        except PostFailed as error:
            return str(error), error.is_final
        except Exception as error:  # others continue
            log.exception("a webhook's delivery cannot be sent")
            return repr(error), True
        if 200 <= status < 300:
            return "", False
        return f"the answer has status {status}", is_final(status)

    async def _settle(self, row: DeliveryRow, outcome: tuple[str, bool]) -> None:
        """Forget what has arrived or cannot arrive; repeat the rest later."""
        fault, is_vain = outcome
        now = clock.now()
        is_vain = is_vain or now - row.created_at > GIVEN_UP_AFTER
        if fault and (is_vain or row.attempts == 0):
            text = "a webhook's delivery is given up" if is_vain else "a webhook's delivery failed"
            about = {"webhook": row.webhook_id, "webhook_name": row.name, "error": fault}
            log.warning(text, extra=about)
        async with self._db.acquire() as conn:
            if is_vain or not fault:
                await rows.delete_delivery(conn, row.id)
            else:
                await rows.postpone_delivery(conn, row.id, now + BACKOFF.after(row.attempts + 1))
