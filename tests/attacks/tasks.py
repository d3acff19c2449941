"""Clients that stand for code which runs in a task."""

from __future__ import annotations

from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World


async def as_code_of(world: World, allocation_id: str) -> Client:
    """Code with the token of the task's owner (`DET_USER_TOKEN`)."""
    tokens = await scene.task_tokens(world)
    client = Client(world.clients["admin"].app, tokens.user_token(allocation_id))
    await scene.until(client, "/api/v1/me", lambda got: got)
    return client


async def as_task(world: World, allocation_id: str) -> Client:
    """Code with the token of the task's own session (`DET_SESSION_TOKEN`)."""
    tokens = await scene.task_tokens(world)
    client = Client(world.clients["admin"].app, tokens.session_token(allocation_id))
    await scene.until(client, "/api/v1/me", lambda got: got)
    return client
