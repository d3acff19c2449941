"""The importance of an experiment's hyperparameters for one of its metrics."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import NotFound
from determined_master.domain.metrics import importance as domain
from determined_master.domain.metrics.importance import Importance
from determined_master.domain.metrics.summary import group_key
from determined_master.store.experiments import outcomes as rows

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.store.db import Database

AT_ONCE = 1
"""A large search takes more than a second of a core."""


class HpImportance(msgspec.Struct, frozen=True):
    """Hyperparameters by importance, and what they were computed from."""

    metric: str
    group: str
    smaller_is_better: bool
    used: int
    total: int
    warning: str
    parameters: Sequence[Importance]


class HpImportances:
    """Importances of all experiments; computed in a thread, one at a time."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._gate = asyncio.Semaphore(AT_ONCE)

    async def find(
        self,
        caller: Caller,
        experiment_id: int,
        metric: str,
        group: str,
        smaller_is_better: bool | None,
    ) -> HpImportance:
        """The importances for a metric; without one, for the searcher's and in its direction.

        A run counts with its best value of the metric.

        Raises:
            NotFound: there is no such experiment.
        """
        access.may(caller, "read", "experiment")
        async with self._gate:
            async with self._db.acquire() as conn:
                direction = await rows.find_direction(conn, experiment_id)
                if direction is None:
                    raise NotFound(f"experiment '{experiment_id}' not found")
                metric = metric or direction.metric
                group = group or "validation"
                if smaller_is_better is None:
                    smaller_is_better = direction.smaller_is_better
                path = (group_key(group), metric, "min" if smaller_is_better else "max")
                total, with_metric = await rows.count_outcomes(conn, experiment_id, path)
                found = await rows.list_outcomes(conn, experiment_id, path, domain.MAX_RUNS)
            parameters, count = await asyncio.to_thread(
                _importances, found, experiment_id, smaller_is_better=smaller_is_better
            )
        return HpImportance(
            metric,
            group,
            smaller_is_better,
            len(found),
            total,
            _warning(len(found), with_metric, count),
            parameters,
        )


def _importances(
    found: Sequence[tuple[str, float]], experiment_id: int, *, smaller_is_better: bool
) -> tuple[list[Importance], int]:
    """The importances, and how many hyperparameters there are."""
    hparams = [msgspec.json.decode(text) for text, _ in found]
    ranked = domain.importances(
        hparams,
        [metric for _, metric in found],
        smaller_is_better=smaller_is_better,
        random=Random(experiment_id),
    )
    return ranked, domain.count_parameters(hparams)


def _warning(used: int, with_metric: int, parameters: int) -> str:
    texts = []
    if used < domain.FEW_RUNS:
        texts.append(
            f"only {used} trials have the metric: with fewer than {domain.FEW_RUNS} the order may "
            "be chance"
        )
    if with_metric > used:
        texts.append(f"the newest {used} of {with_metric} trials were used")
    if parameters > domain.MAX_PARAMETERS:
        texts.append(f"{domain.MAX_PARAMETERS} of {parameters} hyperparameters were used")
    return "; ".join(texts)
