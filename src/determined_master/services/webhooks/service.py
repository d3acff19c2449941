"""Use cases of webhooks: reports of experiments and logs to other servers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import asyncpg

from determined_master import clock, entropy
from determined_master.domain.access import rules as access
from determined_master.domain.errors import (
    AlreadyExists,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
)
from determined_master.domain.webhooks.definitions import check_url, check_webhook, with_name
from determined_master.domain.webhooks.events import Alert, WebhookEvent
from determined_master.ports.posts import PostFailed
from determined_master.store.experiments import trials
from determined_master.store.webhooks import deliveries, webhooks
from determined_master.store.workspaces.owners import find_workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.addresses import IPNetwork
    from determined_master.domain.webhooks.definitions import NewWebhook
    from determined_master.records.webhooks import WebhookRow
    from determined_master.services.webhooks.deliveries import Deliveries
    from determined_master.services.webhooks.log_triggers import LogTriggers
    from determined_master.store.db import Conn

MAX_OF_WORKSPACE = 1000
MAX_WAITING_ALERTS = 1000
"""Deliveries of one webhook that may wait when an alert is added."""
MAX_ALERT = 10_000
"""Characters of an alert's title and of its description."""


class Webhooks:
    """The webhooks of all workspaces."""

    def __init__(
        self,
        db: asyncpg.Pool,
        queue: Deliveries,
        log_triggers: LogTriggers,
        allowed: Sequence[IPNetwork],
    ) -> None:
        """`allowed` are the networks that a URL may lead to besides public addresses."""
        self._db = db
        self._deliveries = queue
        self._log_triggers = log_triggers
        self._allowed = allowed

    async def list_all(self, caller: Caller) -> list[WebhookRow]:
        """The webhooks that the caller sees, by id."""
        access.may(caller, "read", "webhook")
        async with self._db.acquire() as conn:
            return await webhooks.list_webhooks(conn, among=access.visible(caller, "webhook"))

    async def create(self, caller: Caller, new: NewWebhook) -> WebhookRow:
        """Store a webhook.

        Raises:
            InvalidArgument: see `check_webhook`. NotFound: no such workspace.
            AlreadyExists: the workspace has one of that name. ResourceExhausted: it has too many.
            PermissionDenied: the caller does not own the workspace, or has no role for it.
        """
        new = check_webhook(new, self._allowed)
        async with self._db.acquire() as conn, conn.transaction():
            await _check_place(conn, caller, new.workspace_id)
            if await webhooks.count_webhooks(conn, new.workspace_id) >= MAX_OF_WORKSPACE:
                raise ResourceExhausted(
                    f"a workspace may have at most {MAX_OF_WORKSPACE} webhooks: delete some"
                )
            webhook_id = await webhooks.next_id(conn)
            new = with_name(new, webhook_id)
            try:
                await webhooks.insert_webhook(conn, webhook_id, caller.user_id, new, clock.now())
            except asyncpg.UniqueViolationError:
                raise AlreadyExists(
                    f"a webhook named '{new.name}' already exists in this workspace: "
                    "row already exists"
                ) from None
            row = await webhooks.find_webhook(conn, webhook_id)
        assert row is not None
        self._log_triggers.forget()
        return row

    async def change_url(self, caller: Caller, webhook_id: int, url: str) -> None:
        """Send to another address, also what waits. Raises NotFound, InvalidArgument."""
        async with self._db.acquire() as conn:
            await _editable(conn, caller, webhook_id)
            check_url(url, self._allowed)
            await webhooks.update_url(conn, webhook_id, url)

    async def delete(self, caller: Caller, webhook_id: int) -> None:
        """Delete a webhook with what it has to deliver. Raises NotFound."""
        async with self._db.acquire() as conn:
            await _editable(conn, caller, webhook_id)
            await webhooks.delete_webhook(conn, webhook_id)
        self._log_triggers.forget()

    async def test(self, caller: Caller, webhook_id: int) -> None:
        """Send an event without data, once.

        Raises:
            NotFound: no such webhook. InvalidArgument: its server did not take it.
        """
        async with self._db.acquire() as conn:
            row = await _editable(conn, caller, webhook_id)
        event = WebhookEvent(
            id=str(entropy.new_uuid()),
            type="state",
            at=int(clock.now().timestamp()),
            condition={"state": "COMPLETED"},
        )
        try:
            status = await self._deliveries.send(event, row.url, row.type)
            fault = "" if 200 <= status < 300 else f"the answer has status {status}"
        except PostFailed as error:
            fault = str(error)
        if fault:
            raise InvalidArgument(
                f'error sending webhook request for event {event.id} error: Post "{row.url}": '
                f"{fault}"
            )

    async def alert(self, caller: Caller, experiment_id: int, trial_id: int, alert: Alert) -> None:
        """Let the experiment's webhooks report what its code has found.

        Args:
            caller: may control the experiment, or is one of its tasks.
            experiment_id: whose webhooks.
            trial_id: one of its trials, or 0.
            alert: what to report.

        Raises:
            NotFound: no such experiment, or the trial is not one of it.
            InvalidArgument: the alert is too long.
            ResourceExhausted: too many wait to be delivered.
        """
        for name, text in (("title", alert.title), ("description", alert.description)):
            if len(text) > MAX_ALERT:
                raise InvalidArgument(
                    f"{name} may have at most {MAX_ALERT} characters; it has {len(text)}"
                )
        access.may(caller, "report", "task")
        async with self._db.acquire() as conn:
            if not await find_workspaces(conn, "experiment", [str(experiment_id)]):
                raise NotFound(f"experiment '{experiment_id}' not found")
            if trial_id and await trials.find_experiment_id(conn, trial_id) != experiment_id:
                raise NotFound(f"trial '{trial_id}' not found in experiment '{experiment_id}'")
            now = clock.now()
            most = MAX_WAITING_ALERTS
            full = await deliveries.insert_alert(conn, experiment_id, trial_id, alert, now, most)
        self._deliveries.wake()
        if full:
            raise ResourceExhausted(
                f"{full} webhooks have {most} reports to deliver: send fewer alerts, and look "
                "at whether their servers answer"
            )


async def _check_place(conn: Conn, caller: Caller, workspace_id: int | None) -> None:
    """Raise NotFound or PermissionDenied if the caller may not make a webhook there."""
    owner_id = None
    if workspace_id is not None:
        owner_id = await webhooks.find_owner(conn, workspace_id)
        missing = f"workspace '{workspace_id}' not found"
        if owner_id is None:
            raise NotFound(missing)
        access.may_see(caller, "workspace", workspace_id, missing)
    place = workspace_id or access.NOWHERE
    access.may(caller, "edit", "webhook", owner_id=owner_id, workspace_id=place)


async def _editable(conn: Conn, caller: Caller, webhook_id: int) -> WebhookRow:
    """The webhook, if the caller may change it. Raises NotFound, PermissionDenied."""
    row = await webhooks.find_webhook(conn, webhook_id)
    missing = f"webhook '{webhook_id}' not found"
    if row is None:
        raise NotFound(missing)
    place = row.workspace_id or access.NOWHERE
    access.may_see(caller, "webhook", place, missing)
    access.may(caller, "edit", "webhook", owner_id=row.owner_id, workspace_id=place)
    return row
