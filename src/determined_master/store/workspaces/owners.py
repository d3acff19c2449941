"""The workspace that a thing is in, whatever it is named by."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence

import msgspec

from determined_master.records.access import INTERACTIVE_WORDS, Thing
from determined_master.store.db import Conn

MAX_INT = 2**31 - 1
_OF_GENERIC = """
      LEFT JOIN projects p ON p.id = g.project_id
"""
_OF_TASK = f"""
      LEFT JOIN experiments e ON e.id = k.experiment_id
      LEFT JOIN generic_tasks g ON g.task_id = k.id {_OF_GENERIC}
      LEFT JOIN interactive_tasks i ON i.task_id = k.id
"""
_WORKSPACE = "coalesce(e.workspace_id, p.workspace_id, g.workspace_id) AS workspace_id"
_WORKSPACE_OF_TASK = _WORKSPACE.replace("g.workspace_id)", "g.workspace_id, i.workspace_id)")


class _Search(msgspec.Struct, frozen=True):
    """How things of one kind are looked for."""

    query: str
    """Gives (key, workspace_id); `$1` are the keys in their stored form."""
    stored: Callable[[str], object | None]
    """The stored form of a name as users give it; None for what can be no name."""


def _number(name: str) -> int | None:
    is_number = name.isascii() and name.isdigit() and len(name) <= 10 and int(name) <= MAX_INT
    return int(name) if is_number else None


def _text(name: str) -> str | None:
    return None if "\0" in name else name


def _upper(name: str) -> str | None:
    return _text(name.upper())


def _uuid(name: str) -> uuid.UUID | None:
    try:
        return uuid.UUID(name)
    except ValueError:
        return None


_TASKS = _Search(
    f"SELECT k.id AS key, {_WORKSPACE_OF_TASK} FROM tasks k {_OF_TASK}"
    " WHERE k.id = ANY ($1::text[])",
    _text,
)
_SEARCHES: Mapping[Thing, _Search] = {
    "workspace": _Search(
        "SELECT id AS key, id AS workspace_id FROM workspaces WHERE id = ANY ($1::int[])", _number
    ),
    "project": _Search(
        "SELECT id AS key, workspace_id FROM projects WHERE id = ANY ($1::int[])", _number
    ),
    "project_key": _Search(
        "SELECT key, workspace_id FROM projects WHERE key = ANY ($1::text[])", _upper
    ),
    "experiment": _Search(
        "SELECT id AS key, workspace_id FROM experiments WHERE id = ANY ($1::int[])", _number
    ),
    "external_experiment": _Search(
        "SELECT external_id AS key, workspace_id FROM experiments"
        " WHERE external_id = ANY ($1::text[])",
        _text,
    ),
    "trial": _Search(
        "SELECT t.id AS key, e.workspace_id FROM trials t"
        " JOIN experiments e ON e.id = t.experiment_id WHERE t.id = ANY ($1::int[])",
        _number,
    ),
    "checkpoint": _Search(
        f"SELECT c.uuid AS key, {_WORKSPACE} FROM checkpoints c"
        " LEFT JOIN experiments e ON e.id = c.experiment_id"
        f" LEFT JOIN generic_tasks g ON g.task_id = c.task_id {_OF_GENERIC}"
        " WHERE c.uuid = ANY ($1::uuid[])",
        _uuid,
    ),
    "task": _TASKS,
    **dict.fromkeys(INTERACTIVE_WORDS, _TASKS),
    "allocation": _Search(
        f"SELECT a.id AS key, {_WORKSPACE_OF_TASK} FROM allocations a"
        f" JOIN tasks k ON k.id = a.task_id {_OF_TASK} WHERE a.id = ANY ($1::text[])",
        _text,
    ),
    "job": _Search(
        "SELECT job_id AS key, workspace_id FROM experiments WHERE job_id = ANY ($1::uuid[])"
        f" UNION SELECT k.job_id, {_WORKSPACE_OF_TASK} FROM tasks k {_OF_TASK}"
        " WHERE k.experiment_id IS NULL AND k.job_id = ANY ($1::uuid[])",
        _uuid,
    ),
    "template": _Search(
        "SELECT name AS key, workspace_id FROM templates WHERE name = ANY ($1::text[])", _text
    ),
    "webhook": _Search(
        "SELECT id AS key, workspace_id FROM webhooks WHERE id = ANY ($1::int[])", _number
    ),
    "model": _Search(
        "SELECT name AS key, workspace_id FROM models WHERE name = ANY ($1::text[])"
        " UNION SELECT id::text, workspace_id FROM models WHERE id IN ("
        " SELECT CASE WHEN k ~ '^[1-9][0-9]{0,17}$' THEN k::bigint END FROM unnest($1::text[]) k)",
        _text,
    ),
}


async def find_workspace_name(conn: Conn, workspace_id: int) -> str | None:
    """The name of a workspace."""
    query = "SELECT name FROM workspaces WHERE id = $1"
    name: str | None = await conn.fetchval(query, workspace_id)
    return name


async def find_workspaces(conn: Conn, thing: Thing, names: Sequence[str]) -> dict[str, int]:
    """The workspaces of things by the names that were given; 0 for one that is in none.

    A thing that is not there is left out.
    """
    search = _SEARCHES[thing]
    stored = {name: search.stored(name) for name in names}
    keys = [key for key in stored.values() if key is not None]
    if not keys:
        return {}
    by_key = {row["key"]: row["workspace_id"] or 0 for row in await conn.fetch(search.query, keys)}
    return {name: by_key[key] for name, key in stored.items() if key in by_key}
