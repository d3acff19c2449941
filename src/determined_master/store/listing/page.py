"""One page of a list that is filtered and sorted in the search language."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.listing.filters import Condition, Filter, Group, Sort
from determined_master.domain.listing.paging import Page, page_of
from determined_master.store.listing.sql import Composed, TableSql

if TYPE_CHECKING:
    from determined_master.store.db import Conn

DEFAULT_LIMIT = 100
FEW = 2000
_PROJECTS_IN = "SELECT x.id FROM projects x WHERE x.workspace_id = ANY ({}::int[])"
_BEGIN = """
    BEGIN READ ONLY; SET LOCAL plan_cache_mode = force_custom_plan; SET LOCAL enable_seqscan = on;
    SET LOCAL enable_bitmapscan = on; SET LOCAL jit = off; SET LOCAL work_mem = '64MB';
    SET LOCAL max_parallel_workers_per_gather = 0
"""


class ListQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows, in which order, and which part of them."""

    filter: Filter
    sorts: Sequence[Sort] = ()
    project_id: int | None = None
    """None for all projects."""
    workspace_ids: Sequence[int] | None = None
    """The workspaces that may be looked into; None for all."""
    offset: int = 0
    limit: int = 0

    def page(self, total: int) -> Page:
        """Where the page lies among `total` matches."""
        return page_of(
            total, self.offset, self.limit, default_limit=DEFAULT_LIMIT, takes_minus_one=True
        )


@asynccontextmanager
async def planned_for_its_values(conn: Conn) -> AsyncIterator[None]:
    """A transaction whose statements are planned again with the values that they are given.

    The pool's connections plan once; but whether an index helps a filter depends on its value.
    """
    await conn.execute(_BEGIN)  # all in one go: each round trip costs as much as a short query
    try:
        yield
    except BaseException:
        if not conn.is_closed():
            await conn.execute("ROLLBACK")
        raise
    await conn.execute("COMMIT")


async def find_page(conn: Conn, table: TableSql, query: ListQuery) -> tuple[list[int], Page]:
    """Ids of the rows of a page, in order, and where the page lies.

    Raises:
        InvalidArgument: the offset lies before the first row, or the limit is negative.
    """
    async with planned_for_its_values(conn):
        matches = await find_matches(conn, table, query)
        quick = await _find_having(conn, matches)
        if quick is not None:
            return quick
        total, few = await _count(conn, matches)
        page = query.page(total)
        if page.start == page.end:
            return [], page
        if few is None:
            listed = matches.composed()
        else:
            listed = Composed(table, matches.column_ids)
            listed.add(f"{table.key} = ANY ({listed.add_value(few)}::int[])")
        return await _page_ids(conn, table, listed, query.sorts, page), page


class Matches(msgspec.Struct, frozen=True):
    """The query of a list, and the columns that were looked up for it."""

    table: TableSql
    query: ListQuery
    column_ids: Mapping[str, Sequence[int]]
    experiments: Mapping[Condition, Sequence[int]]

    def composed(self, *, with_archived: bool = False) -> Composed:
        """The clauses of all that matches."""
        table, query = self.table, self.query
        composed = Composed(table, self.column_ids, query.project_id, self.experiments)
        if query.project_id is not None:
            project = table.expressions["projectId"]
            composed.add(f"{project} = {composed.add_value(query.project_id)}")
        if query.workspace_ids is not None:
            workspaces = composed.add_value(list(query.workspace_ids))
            composed.add(f"{table.project} IN ({_PROJECTS_IN.format(workspaces)})")
        if not (query.filter.show_archived or with_archived):
            composed.add(f"NOT {table.archived}")
        composed.add_tree(query.filter.root)
        return composed


async def find_matches(
    conn: Conn, table: TableSql, query: ListQuery, columns: Sequence[str] = ()
) -> Matches:
    """The query of all that matches, which may also read the columns that are named."""
    column_ids = await _find_column_ids(conn, table, query, columns)
    return Matches(table, query, column_ids, await _look_up(conn, table, query))


async def _page_ids(
    conn: Conn, table: TableSql, listed: Composed, sorts: Sequence[Sort], page: Page
) -> list[int]:
    ordered = listed.ordered(sorts, Sort("id"))
    query = f"""
        SELECT {table.key} AS id {ordered} OFFSET {page.start} LIMIT {page.end - page.start}
    """
    return [row["id"] for row in await conn.fetch(query, *listed.values)]


async def _count(conn: Conn, matches: Matches) -> tuple[int, list[int] | None]:
    """How many rows match; their ids, too, where they are few.

    Finding few rows may cost a look at all; it is then not done a second time for the page.
    """
    table, root = matches.table, matches.query.filter.root
    composed = matches.composed()
    if not root.children and table.totals:
        return await _read_total(conn, matches.query, table.totals), None
    if root.children:
        query = f"SELECT {table.key} AS id {composed.where()} LIMIT {FEW + 1}"
        few = [row["id"] for row in await conn.fetch(query, *composed.values)]
        if len(few) <= FEW:
            return len(few), few
    total = await conn.fetchval(f"SELECT count(*) {composed.where()}", *composed.values)
    return int(total), None


async def _read_total(conn: Conn, list_query: ListQuery, totals: str) -> int:
    """The condition on which rows are counted as they come and go."""
    total = "listed" if list_query.filter.show_archived else "listed - archived"
    query = f"""
        SELECT coalesce(sum({total}), 0) FROM {totals}
         WHERE ($1::int IS NULL OR project_id = $1)
           AND ($2::int[] IS NULL OR project_id IN ({_PROJECTS_IN.format("$2")}))
    """
    workspace_ids = None if list_query.workspace_ids is None else list(list_query.workspace_ids)
    return int(await conn.fetchval(query, list_query.project_id, workspace_ids))


async def _find_having(conn: Conn, matches: Matches) -> tuple[list[int], Page] | None:
    """Runs of a project with a value, by id, read from an index; None where that is no way.

    It does not count archived rows, which must not be among them.
    """
    table, list_query = matches.table, matches.query
    condition = _only_condition(list_query.filter.root)
    if condition is None or condition.column in table.expressions or table.name != "run":
        return None
    if list_query.project_id is None or condition.operator == "isEmpty" or list_query.offset < 0:
        return None
    if list_query.workspace_ids is not None:  # its way leads past the project's workspace
        return None
    sort = list_query.sorts[0] if list_query.sorts else Sort("id")
    if sort.column != "id":
        return None
    if not list_query.filter.show_archived:
        hidden = matches.composed(with_archived=True)
        hidden.add(table.archived)
        if await conn.fetchval(f"SELECT EXISTS (SELECT {hidden.where()})", *hidden.values):
            return None
    having = Composed(table, matches.column_ids, list_query.project_id)
    most = "ALL" if list_query.limit < 0 else f"{list_query.limit or DEFAULT_LIMIT:d}"
    query = f"""
        WITH h (id) AS MATERIALIZED ({having.runs_having(condition)})
        SELECT (SELECT count(*) FROM h),
               ARRAY (SELECT id FROM h ORDER BY id {"DESC" if sort.is_descending else "ASC"}
                      OFFSET {list_query.offset:d} LIMIT {most})
    """
    total, ids = await conn.fetchrow(query, *having.values)
    return ids, list_query.page(total)


async def _look_up(
    conn: Conn, table: TableSql, list_query: ListQuery
) -> dict[Condition, list[int]]:
    """The experiments that meet conditions on experiments alone, where they are few.

    There are far fewer of them than runs, and nobody can know in advance how many match a
    condition on text: joined with all runs it was five times as slow.
    """
    ids_by_condition: dict[Condition, list[int]] = {}
    for condition in set(_conditions(list_query.filter.root)) if table.of_experiment else ():
        if not table.is_of_experiments(condition.column):
            continue
        part = Composed(msgspec.structs.replace(table, source="experiments e", joins={}), {})
        if list_query.project_id is not None:
            part.add(f"e.project_id = {part.add_value(list_query.project_id)}")
        part.add_tree(Group("and", [condition]))
        query = f"SELECT e.id {part.where()} LIMIT {FEW + 1}"
        ids = [row["id"] for row in await conn.fetch(query, *part.values)]
        if len(ids) <= FEW:
            ids_by_condition[condition] = ids
    return ids_by_condition


def _only_condition(node: Group | Condition) -> Condition | None:
    while isinstance(node, Group):
        if len(node.children) != 1:
            return None
        node = node.children[0]
    return node


async def _find_column_ids(
    conn: Conn, table: TableSql, list_query: ListQuery, columns: Sequence[str]
) -> dict[str, list[int]]:
    """Ids of the project's own columns that are named, also by a filter or a sort.

    A name has several in all projects.
    """
    names = {c.column for c in _conditions(list_query.filter.root)} | {
        s.column for s in list_query.sorts
    }
    names |= set(columns)
    own = [name for name in names if name not in table.expressions]
    if not own:
        return {}
    query = """
        SELECT name, array_agg(id) FROM run_columns
         WHERE name = ANY ($1) AND ($2::int IS NULL OR project_id = $2)
         GROUP BY name
    """
    return dict(await conn.fetch(query, own, list_query.project_id))


def _conditions(node: Group | Condition) -> Iterator[Condition]:
    if isinstance(node, Condition):
        yield node
    else:
        for child in node.children:
            yield from _conditions(child)
