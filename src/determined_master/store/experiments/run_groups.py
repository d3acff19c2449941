"""Runs in groups of equal values of one column, with figures of numeric columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from determined_master.domain.listing.columns import split_metric
from determined_master.domain.listing.groups import (
    MAX_GROUPS,
    NUMBERS_THAT_NAME,
    Figures,
    GroupedRows,
    Grouping,
    GroupOfRows,
)
from determined_master.domain.metrics.summary import group_key
from determined_master.store.experiments.run_lists import RUNS
from determined_master.store.listing.page import ListQuery, find_matches, planned_for_its_values

if TYPE_CHECKING:
    from determined_master.store.db import Conn
    from determined_master.store.listing.sql import Composed


async def find_groups(conn: Conn, list_query: ListQuery, grouping: Grouping) -> GroupedRows:
    """All runs that match, in groups; the largest `MAX_GROUPS` of them.

    Values are read in one pass whatever the number of columns: runs that have ended from
    `run_values`, metrics of the others from their summaries.
    """
    columns = (grouping.by, *grouping.columns)
    async with planned_for_its_values(conn):
        matches = await find_matches(conn, RUNS, list_query, columns)
        composed = matches.composed()
        query = _query(composed, grouping, matches.column_ids)
        rows = await conn.fetch(query, *composed.values)
    groups = list(_groups(rows, grouping.columns))
    total, count = (int(rows[0]["total"]), int(rows[0]["rows"])) if rows else (0, 0)
    return GroupedRows(groups, total, count)


def _groups(rows: Sequence[Any], columns: Sequence[str]) -> Iterator[GroupOfRows]:
    for _, some in groupby(rows, itemgetter("place")):
        members = list(some)
        figures = [
            Figures(
                columns[at], row["n"], row["mean"], row["deviation"], row["least"], row["most"]
            )
            for row in members
            if (at := row["at"]) is not None
        ]
        first = members[0]
        yield GroupOfRows(first["word"], first["number"], first["runs"], figures)


def _query(composed: Composed, grouping: Grouping, column_ids: Any) -> str:
    number, word = _value_of(composed, grouping.by)
    own = [(at, c) for at, c in enumerate(grouping.columns) if c in RUNS.expressions]
    extra = "".join(f", ({composed.own(column)})::float8 AS own{at}" for at, column in own)
    branches = list(_stored(composed, grouping.columns, column_ids))
    branches += _live(composed, grouping.columns)
    branches += [f"SELECT m.place, {at}, m.own{at} FROM members m" for at, _ in own]
    values = " UNION ALL ".join(branches) or "SELECT 0, 0, 0::float8 WHERE false"
    return f"""
        WITH matching AS MATERIALIZED (
            SELECT r.id, {word} AS word, {number} AS number{extra} {composed.where()}
        ), keyed AS (
            SELECT *, coalesce('t' || word, 'n' || number::text, '') AS key FROM matching
        ), groups AS MATERIALIZED (
            SELECT row_number() OVER (ORDER BY count(*) DESC, key) AS place, key,
                   min(word) AS word, min(number) AS number, count(*) AS runs
              FROM keyed GROUP BY key
        ), members AS MATERIALIZED (
            SELECT k.*, g.place FROM keyed k JOIN groups g ON g.key = k.key
             WHERE g.place <= {MAX_GROUPS}
        ), found (place, at, value) AS ({values}),
        figures AS (
            SELECT place, at, count(*)::int AS n, avg(value) AS mean,
                   stddev_samp(value) AS deviation, min(value) AS least, max(value) AS most
              FROM found WHERE value IS NOT NULL GROUP BY place, at
        )
        SELECT g.place, g.word, g.number, g.runs::int, f.at, f.n, f.mean, f.deviation, f.least,
               f.most, (SELECT count(*) FROM groups) AS total, (SELECT count(*) FROM keyed) AS rows
          FROM groups g LEFT JOIN figures f ON f.place = g.place
         WHERE g.place <= {MAX_GROUPS} ORDER BY g.place, f.at
    """


def _value_of(composed: Composed, by: str) -> tuple[str, str]:
    """The number and the text that group a run; at most one of them is not null."""
    if by not in RUNS.expressions:
        return composed.own_value(by)
    expression = composed.own(by)
    if by == "state":  # detached runs are stored as what others are shown as
        expression = f"replace({expression}, 'RUNNING', 'ACTIVE')"
    if by in NUMBERS_THAT_NAME:
        return f"({expression})::float8", "NULL::text"
    return "NULL::float8", f"nullif({expression}, '')"


def _stored(composed: Composed, columns: Sequence[str], column_ids: Any) -> Iterator[str]:
    pairs = [(i, at) for at, column in enumerate(columns) for i in column_ids.get(column, ())]
    if pairs:
        ids, places = (composed.add_value(list(part)) for part in zip(*pairs, strict=True))
        yield f"""
            SELECT m.place, c.at, v.number FROM members m
              JOIN run_values v ON v.run_id = m.id
              JOIN unnest({ids}::int[], {places}::int[]) AS c (id, at) ON c.id = v.column_id
        """


def _live(composed: Composed, columns: Sequence[str]) -> Iterator[str]:
    paths = [
        (at, group_key(metric[0]), metric[1], metric[2])
        for at, column in enumerate(columns)
        if column not in RUNS.expressions and not column.startswith(("hp.", "metadata."))
        if (metric := split_metric(column)) is not None
    ]
    if paths:
        at, *texts = (composed.add_value(list(part)) for part in zip(*paths, strict=True))
        arrays = ", ".join([f"{at}::int[]", *(f"{text}::text[]" for text in texts)])
        yield f"""
            SELECT m.place, p.at, leaf_number(t.summary_metrics #> ARRAY[p.part, p.name, p.figure])
              FROM members m JOIN trials t ON t.id = m.id AND t.ended_at IS NULL
             CROSS JOIN unnest({arrays}) AS p (at, part, name, figure)
        """
