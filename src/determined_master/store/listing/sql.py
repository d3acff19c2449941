"""Filters and sorts of lists as SQL.

Each table defines how its own columns are written (`TableSql`); the project's own columns
(hyperparameters, metrics, metadata) are looked up in `run_values`, and metrics of unfinished runs
in their summaries. Texts of users go into parameters only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, assert_never

import msgspec

from determined_master.domain.listing.columns import ColumnType, columns_of, split_metric
from determined_master.domain.listing.filters import Condition, Group, Sort
from determined_master.domain.metrics.summary import group_key
from determined_master.domain.states import SHOWN_WHEN_ACTIVE

_ALIAS = re.compile(r"\b([a-z])\.")
_ISO = "%Y-%m-%dT%H:%M:%S"
_KEY = re.compile(r"[a-z]\.(id|experiment_id|project_id)")
"""Columns of integers that have an index. An index finds an integer, but not a double."""
_WHOLE = 2.0**53


class TableSql(msgspec.Struct, frozen=True):
    """How one list reads its table."""

    name: str
    """Of the domain's columns: `run` or `experiment`."""
    source: str
    """The narrow table with its alias, as in FROM."""
    key: str
    """The column that a row is known by, which settles equal sort keys."""
    expressions: Mapping[str, str]
    """Its own columns by name; aliases of other tables are joined as needed."""
    archived: str
    """Holds for a row that lists hide unless they are asked not to."""
    joins: Mapping[str, str]
    """Alias to JOIN clause, in the order in which they must stand."""
    run_of_metric: str
    """The run whose metrics count for a row."""
    has_run: str
    """Holds for a row when `{runs}`, a query of run ids, has one of its runs."""
    project: str
    """The project that a row is in."""
    of_experiment: str = ""
    """The experiment that a row belongs to, where it is no experiment itself."""
    totals: str = ""
    """A table of how many rows each project has, `listed` and `archived`."""

    def is_of_experiments(self, column: str) -> bool:
        """Whether a column is one of the table `experiments` and of nothing else."""
        return set(_ALIAS.findall(self.expressions.get(column, ""))) == {"e"}


class Composed:
    """A statement that grows: its clauses, joins and parameters."""

    def __init__(
        self,
        table: TableSql,
        column_ids: Mapping[str, Sequence[int]],
        project_id: int | None = None,
        experiments: Mapping[Condition, Sequence[int]] | None = None,
    ) -> None:
        """`experiments` has those that meet conditions which were looked up before."""
        self._table = table
        self._experiments = experiments or {}
        self._project_id = project_id
        self._column_ids = column_ids
        self._aliases: set[str] = set()
        self._sort_joins: list[str] = []
        self.values: list[Any] = []
        self.clauses: list[str] = []

    def add_value(self, value: Any) -> str:
        """A parameter's placeholder."""
        self.values.append(value)
        return f"${len(self.values)}"

    def add(self, clause: str) -> None:
        """One more condition that must hold."""
        self._note(clause)
        self.clauses.append(clause)

    def add_tree(self, tree: Group) -> None:
        """A filter's tree as one more condition."""
        if tree.children:
            self.add(self._tree(tree))

    def where(self) -> str:
        """FROM with the joins that are needed, and WHERE."""
        text = f"FROM {self._table.source} {self._joined()}"
        return f"{text} WHERE {' AND '.join(self.clauses)}" if self.clauses else text

    def ordered(self, sorts: Sequence[Sort], default: Sort) -> str:
        """FROM, WHERE and ORDER BY; equal keys go by id, in the direction of the last."""
        chosen = list(sorts) or [default]
        keys = []
        for sort in chosen:
            direction = "DESC" if sort.is_descending else "ASC"
            keys += [f"{key} {direction} NULLS LAST" for key in self._sort_keys(sort.column)]
        last = "DESC" if chosen[-1].is_descending else "ASC"
        if keys[-1].split()[0] != self._table.key:
            keys.append(f"{self._table.key} {last}")
        keys = [k.replace(" NULLS LAST", "") if k.startswith(self._table.key) else k for k in keys]
        where = self.where()
        return f"{where} ORDER BY {', '.join(keys)}"

    def own(self, column: str) -> str:
        """The expression of one of the table's own columns, with the joins that it needs."""
        expression = self._table.expressions[column]
        self._note(expression)
        return expression

    def own_value(self, column: str) -> tuple[str, str]:
        """The number and the text of one of the project's own columns; one of them is null."""
        alias = self._join_value(column)
        return f"{alias}.number", f"{alias}.word"

    def _join_value(self, column: str) -> str:
        """The alias of a join with the values of one of the project's own columns."""
        run = self._table.run_of_metric
        self._note(run)
        alias = f"sort{len(self._sort_joins)}"
        ids = self.add_value(list(self._column_ids.get(column, ())))
        self._sort_joins.append(
            f"LEFT JOIN run_values {alias}"
            f" ON {alias}.run_id = {run} AND {alias}.column_id = ANY ({ids}::int[])"
        )
        return alias

    def _joined(self) -> str:
        needed = [j for alias, j in self._table.joins.items() if alias in self._aliases]
        return " ".join([*needed, *self._sort_joins])

    def _note(self, text: str) -> None:
        self._aliases |= set(_ALIAS.findall(text)) & self._table.joins.keys()
        for alias in list(self._aliases):  # the join itself needs it
            self._aliases |= set(_ALIAS.findall(self._table.joins[alias])) & (
                self._table.joins.keys()
            )

    def _tree(self, node: Group | Condition) -> str:
        match node:
            case Condition():
                return self._condition(node)
            case Group():
                parts = [self._tree(child) for child in node.children]
                joined = f" {node.conjunction.upper()} ".join(parts)
                return f"({joined})" if parts else "true"
            case _:
                assert_never(node)

    def _condition(self, condition: Condition) -> str:
        experiments = self._experiments.get(condition)
        if experiments is not None:
            ids = self.add_value(list(experiments))
            return f"({self._table.of_experiment} = ANY ({ids}::int[]))"
        expression = self._table.expressions.get(condition.column)
        if expression is None:
            return self._on_values(condition)
        self._note(expression)
        if condition.column == "state":
            condition = msgspec.structs.replace(condition, value=_stored_state(condition.value))
            if condition.value == "ACTIVE":  # detached ones are stored as what others are shown as
                expression = f"replace({expression}, 'RUNNING', 'ACTIVE')"
        if condition.operator == "isEmpty":
            return _empty(expression, condition.type)
        if condition.operator == "notEmpty":
            return f"NOT {_empty(expression, condition.type)}"
        return self._compare(expression, condition)

    def _compare(self, expression: str, condition: Condition) -> str:
        placeholder = self.add_value(condition.value)
        if condition.operator == "contains":
            return f"(position(lower({placeholder}::text) in lower({expression})) > 0)"
        if condition.operator == "notContains":
            return f"(position(lower({placeholder}::text) in lower({expression})) = 0)"
        operator = "<>" if condition.operator == "!=" else condition.operator
        match condition.type:
            case "NUMBER":
                number = condition.value
                if (
                    isinstance(number, int | float)
                    and _KEY.fullmatch(expression)
                    and _is_whole(number)
                ):
                    self.values[-1] = int(number)
                    return f"({expression} {operator} {placeholder}::int8)"
                return f"({expression} {operator} {placeholder}::float8)"
            case "DATE":
                return f"({expression} {operator} {placeholder}::timestamptz)"
            case "TEXT" | "ARRAY" | "UNSPECIFIED":
                return f'({expression} {operator} {placeholder}::text COLLATE "C")'
            case _:
                assert_never(condition.type)

    def _on_values(self, condition: Condition) -> str:
        runs = self.runs_having(condition)
        self._note(self._table.run_of_metric)
        if _metric_of(condition.column) is None:
            test = self._table.has_run.format(runs=runs)
        else:
            test = f"{self._table.run_of_metric} IN ({runs})"
        # A join of it would be planned by how many rows are expected, which is far off for one
        # column of many; so the ids are hashed once, whatever their number.
        return f"(({test}) IS {'NOT ' if condition.operator == 'isEmpty' else ''}TRUE)"

    def runs_having(self, condition: Condition) -> str:
        """A query of the ids of the project's runs with a value that the condition holds for.

        For `isEmpty` it is those with any value, as for `notEmpty`. No id comes twice.
        """
        leaf = "coalesce(v.word, v.number::text)"
        ended = self._value_test("v.number", leaf, condition)
        ids = self.add_value(list(self._column_ids.get(condition.column, ())))
        runs = f"SELECT v.run_id FROM run_values v WHERE v.column_id = ANY ({ids}::int[]){ended}"
        metric = _metric_of(condition.column)
        if metric is not None:
            path = self.add_value([group_key(metric[0]), *metric[1:]])
            value = f"o.summary_metrics #> {path}::text[]"
            live = self._value_test(f"leaf_number({value})", f"({value} #>> '{{}}')", condition)
            of_project = ""
            if self._project_id is not None:
                of_project = f" AND y.project_id = {self.add_value(self._project_id)}"
            runs += (
                " UNION ALL SELECT o.id FROM trials o JOIN runs y ON y.id = o.id"
                f" WHERE o.ended_at IS NULL AND jsonb_typeof({value}) <> 'null'{live}{of_project}"
            )
        return runs

    def _value_test(self, number: str, text: str, condition: Condition) -> str:
        """The comparison of one value, beginning with AND; empty where being there is enough."""
        if condition.operator in ("isEmpty", "notEmpty"):
            return ""
        if condition.type == "NUMBER":
            return f" AND {self._compare(number, condition)}"
        if isinstance(condition.value, datetime):
            # as it was written: all times of one key have the same form
            value = condition.value.astimezone(UTC).strftime(_ISO)
            condition = Condition(condition.column, condition.operator, "TEXT", value)
        return f" AND {self._compare(text, condition)}"

    def _sort_keys(self, column: str) -> list[str]:
        expression = self._table.expressions.get(column)
        if expression is not None:
            self._note(expression)
            column_type = columns_of("run" if self._table.name == "run" else "experiment")[column]
            return [f'({expression}) COLLATE "C"' if column_type.type == "TEXT" else expression]
        run, alias = self._table.run_of_metric, self._join_value(column)
        metric = _metric_of(column)
        if metric is None:
            return [f"{alias}.number", f'{alias}.word COLLATE "C"']
        path = self.add_value([group_key(metric[0]), *metric[1:]])
        self._sort_joins.append(
            f"LEFT JOIN trials {alias}_open"
            f" ON {alias}_open.id = {run} AND {alias}_open.ended_at IS NULL"
        )
        live = f"leaf_number({alias}_open.summary_metrics #> {path}::text[])"
        return [f"coalesce({alias}.number, {live})"]


def _metric_of(column: str) -> tuple[str, str, str] | None:
    return None if column.startswith(("hp.", "metadata.")) else split_metric(column)


def _empty(expression: str, type_: ColumnType) -> str:
    if type_ in ("NUMBER", "DATE"):
        return f"({expression} IS NULL)"
    return f"(coalesce({expression}, '') = '')"


def _is_whole(value: float) -> bool:
    return abs(value) < _WHOLE and value == int(value)


def _stored_state(value: Any) -> Any:
    """The state shown while a run is active is not stored; all of them count as active."""
    name = str(value or "").removeprefix("STATE_").upper()
    return "ACTIVE" if name in SHOWN_WHEN_ACTIVE else name
