"""Which experiments and trials exist, and single facts about several experiments."""

from __future__ import annotations

from collections.abc import Sequence

from determined_master.records.stories import ThingWithStory
from determined_master.store.causes import CAUSE_OF_TRIAL, FAILED_TRIAL, NUMBER, SENTENCE
from determined_master.store.db import Conn

_EXISTS: dict[ThingWithStory, str] = {
    "experiment": f"SELECT EXISTS (SELECT FROM experiments WHERE id = {NUMBER})",
    "trial": f"SELECT EXISTS (SELECT FROM trials WHERE id = {NUMBER})",
    "allocation": "SELECT EXISTS (SELECT FROM allocations WHERE id = $1)",
    "task": "SELECT EXISTS (SELECT FROM tasks WHERE id = $1)",
}


_SILENT = """CASE WHEN {row}.state = 'COMPLETED' AND {row}.best_metric IS NULL
                     AND NOT e.unmanaged
                    THEN '{who} reported no number as the validation metric ' ||
                         quote_literal(e.searcher_metric) ||
                         ' (searcher.metric), so no checkpoint is the best' ||
                         coalesce('; reported were ' || ({reported}), '')
                END"""
_REPORTED = """
    SELECT string_agg(quote_literal(name), ', ') FROM (
        SELECT DISTINCT jsonb_object_keys(m.metrics) AS name
          FROM (SELECT id FROM trials WHERE {which} ORDER BY id LIMIT 10) s,
               LATERAL (SELECT metrics FROM metrics
                         WHERE trial_id = s.id AND metric_group = 'validation'
                         ORDER BY steps DESC LIMIT 1) m
         ORDER BY name LIMIT 8) names WHERE name ~ '^[[:print:]]{{1,100}}$'"""
"""Names of validation metrics that trials have reported, for whom looks for a wrong one.

Of the reports: the summaries follow some seconds later.
"""
_SILENT_SEARCH = _SILENT.format(
    row="e", who="its trials", reported=_REPORTED.format(which="experiment_id = e.id")
)
_SILENT_TRIAL = _SILENT.format(row="t", who="it", reported=_REPORTED.format(which="id = t.id"))
_REASONS: dict[ThingWithStory, str] = {
    "experiment": f"""
        SELECT concat_ws('; ', nullif({SENTENCE}, ''), {_SILENT_SEARCH})
          FROM experiments e {FAILED_TRIAL} WHERE e.id = {NUMBER}
    """,
    "trial": f"""
        SELECT concat_ws('; ', CASE WHEN t.state = 'ERROR' THEN {CAUSE_OF_TRIAL} ->> 'text' END,
               nullif(t.reason, ''), {_SILENT_TRIAL})
          FROM trials t JOIN experiments e ON e.id = t.experiment_id WHERE t.id = {NUMBER}
    """,
    "allocation": """
        SELECT concat_ws('; ', cause ->> 'text', nullif(exit_reason, '')) FROM allocations
         WHERE id = $1
    """,
    "task": """
        SELECT concat_ws('; ', cause ->> 'text', nullif(exit_reason, '')) FROM allocations
         WHERE task_id = $1 AND ended_at IS NOT NULL ORDER BY requested_at DESC, id DESC LIMIT 1
    """,
}


async def find_reason(conn: Conn, kind: ThingWithStory, id: str) -> str:
    """Why a thing is in its state; of a failed search, why the trial did that ended it."""
    return str(await conn.fetchval(_REASONS[kind], id) or "")


async def list_config_changes(conn: Conn, kind: ThingWithStory, id: str) -> list[str]:
    """Keys that others have set in the configuration of an experiment, or of a trial's."""
    if kind not in ("experiment", "trial"):
        return []
    own = f"(SELECT experiment_id FROM trials WHERE id = {NUMBER})"
    number = NUMBER if kind == "experiment" else own
    query = f"SELECT config_changes FROM experiments WHERE id = {number}"
    return list(await conn.fetchval(query, id) or ())


async def is_greater_better(conn: Conn, experiment_id: str) -> bool:
    """Whether a search wants a great metric: events then have its negative."""
    query = f"SELECT NOT smaller_is_better FROM experiments WHERE id = {NUMBER}"
    return bool(await conn.fetchval(query, experiment_id))


async def list_usernames(conn: Conn, user_ids: Sequence[int]) -> dict[str, str]:
    """Names of users by their ids, as texts."""
    query = "SELECT id::text, username FROM users WHERE id = ANY ($1::int[])"
    return dict(await conn.fetch(query, user_ids)) if user_ids else {}


async def find_trial_of_task(conn: Conn, task_id: str) -> int | None:
    """The trial that a task runs."""
    trial_id: int | None = await conn.fetchval("SELECT trial_id FROM tasks WHERE id = $1", task_id)
    return trial_id


async def list_trials_by_request(
    conn: Conn, experiment_id: int, request_ids: Sequence[str]
) -> dict[str, int]:
    """Trials of an experiment by the ids of the search's requests for them."""
    query = """
        SELECT request_id::text, id FROM trials
         WHERE experiment_id = $1 AND request_id = ANY ($2::text[]::uuid[])
    """
    return {row[0]: row[1] for row in await conn.fetch(query, experiment_id, request_ids)}


async def exists(conn: Conn, kind: ThingWithStory, id: str) -> bool:
    """Whether there is one with that id; a text that is no number is the id of nothing."""
    return bool(await conn.fetchval(_EXISTS[kind], id))


async def find_missing(conn: Conn, experiment_ids: Sequence[int]) -> int | None:
    """The lowest of these ids that no experiment has."""
    query = "SELECT id FROM unnest($1::int[]) id EXCEPT SELECT id FROM experiments ORDER BY 1"
    missing: int | None = await conn.fetchval(query, experiment_ids)
    return missing


async def has_open(conn: Conn, experiment_ids: Sequence[int]) -> bool:
    """Whether one of them has not ended."""
    query = "SELECT count(*) FROM experiments WHERE id = ANY ($1) AND ended_at IS NULL"
    return bool(await conn.fetchval(query, experiment_ids))


async def list_searcher_metrics(conn: Conn, experiment_ids: Sequence[int]) -> set[str]:
    """The metrics of their searchers."""
    query = "SELECT DISTINCT searcher_metric FROM experiments WHERE id = ANY ($1)"
    return {row[0] for row in await conn.fetch(query, experiment_ids)}
