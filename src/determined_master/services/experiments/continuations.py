"""Letting ended experiments continue."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import entropy
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.access import rules as access
from determined_master.domain.config.sections.searcher import searcher_type
from determined_master.domain.errors import FailedPrecondition, InvalidArgument, PermissionDenied
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId, TrialId
from determined_master.domain.search.method import Create, build
from determined_master.domain.states import TERMINAL
from determined_master.engine.causes import UserRequest
from determined_master.records.experiments import ExperimentRow
from determined_master.services.access.guard import controlled
from determined_master.services.experiments.configs import ExperimentConfigs, PreparedExperiment
from determined_master.services.search.sources import check_source
from determined_master.settings.yaml_text import parse_yaml
from determined_master.store.experiments import experiments as rows
from determined_master.store.experiments import trials

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.services.cluster.pool_bindings import PoolBindings
    from determined_master.store.db import Conn

OPENING_S = 5.0


class Reopening(msgspec.Struct, frozen=True):
    """Which trials continue, and how they had ended."""

    request_ids: tuple[str, ...]
    failed: int
    canceled: int


class Continuations:
    """Continuing ended experiments."""

    def __init__(
        self,
        engine: Engine,
        db: asyncpg.Pool,
        configs: ExperimentConfigs,
        bindings: PoolBindings,
    ) -> None:
        self._engine = engine
        self._db = db
        self._configs = configs
        self._bindings = bindings

    async def continue_experiment(
        self, caller: Caller, experiment_id: int, override: str
    ) -> tuple[str, ...]:
        """Let an ended experiment continue where its trials' checkpoints are.

        A single search continues by a configuration that may be changed; a grid or random one
        with the trials that were not completed.

        Args:
            caller: the caller.
            experiment_id: of an ended experiment.
            override: YAML that is laid over its configuration; no keys change nothing.

        Returns:
            Warnings about the configuration.

        Raises:
            NotFound: no experiment has that id.
            FailedPrecondition: it has not ended, all its trials are completed, or its project or
                workspace is archived.
            InvalidArgument: its search cannot be continued, or not with this override; or its
                workspace may not use its pool any more.
            PermissionDenied: it is another user's, and the override would change what runs
                with their token.
        """
        async with self._db.acquire() as conn:
            found = await rows.find_experiment(conn, experiment_id)
            row = controlled(caller, found, experiment_id)
            closed = await trials.list_ends(conn, experiment_id)
        if row.state not in TERMINAL:
            raise FailedPrecondition(
                f"experiment {experiment_id} is {row.state}: only an experiment in terminal "
                "state can be continued"
            )
        _check_place(row)
        changes = await _has_keys(override)
        _check_search(row, changes)
        is_single = searcher_type(row.searcher_type).continues_with == "all"
        reopening = _reopening(experiment_id, closed, with_completed=is_single)
        prepared = None
        if is_single and changes:
            if not access.is_owner(caller, row):
                raise PermissionDenied(
                    f"experiment {experiment_id} is another user's and runs with their token: "
                    "continue it without an override, or fork it"
                )
            prepared = await self._configs.override(
                override, row.config, workspace_id=row.workspace_id
            )
            _check_override(prepared)
            if caller.rights is not None:  # the override may name what the caller does not see
                await check_source(self._db, caller, prepared.built.typed.searcher)
        config = prepared.built.typed if prepared else row.typed
        async with self._db.acquire() as conn:
            await self._bindings.check_available(
                conn, config.resources.resource_pool, row.workspace_id
            )
        await self._post(caller, row, reopening, prepared)
        await self._wait_for_first(experiment_id, reopening.request_ids[0])
        return prepared.warnings if prepared else ()

    async def _wait_for_first(self, experiment_id: int, request_id: str) -> None:
        """Let the first trial be open before the answer, so that who follows its log sees more."""
        async with self._db.acquire() as conn:
            trial_id = await trials.find_trial_id(conn, experiment_id, request_id)
            earlier = await trials.find_trial(conn, trial_id) if trial_id is not None else None
        if earlier is None or earlier.state not in TERMINAL:
            return
        is_open = lambda state: state.task_id != earlier.task_id  # noqa: E731
        with contextlib.suppress(TimeoutError):
            await self._engine.wait_for(TRIAL, TrialId(earlier.id), is_open, OPENING_S)

    async def _post(
        self,
        caller: Caller,
        row: ExperimentRow,
        reopening: Reopening,
        prepared: PreparedExperiment | None,
    ) -> None:
        hparams: dict[str, Any] | None = None
        if prepared is not None:
            typed = prepared.built.typed
            method = build(typed.searcher, typed.hyperparameters, typed.seed)
            created = [a for a in method.initial().actions if isinstance(a, Create)]
            hparams = created[0].hparams

        async def store(conn: Conn) -> None:
            ends = await trials.list_ends(conn, row.id)
            if not set(reopening.request_ids) <= {request_id for request_id, _ in ends}:
                raise FailedPrecondition(
                    f"experiment {row.id} was changed by somebody else; look at it again"
                )
            await rows.reset_progress(conn, row.id)
            if prepared is not None:
                built = prepared.built
                await rows.update_config(conn, row.id, built.config, list(built.changes))

        event = exp.ExperimentContinued(
            request_ids=reopening.request_ids,
            failed=reopening.failed,
            canceled=reopening.canceled,
            hparams=hparams,
        )
        cause = UserRequest(caller.user_id, entropy.new_uuid())
        await self._engine.post(EXPERIMENT, ExperimentId(row.id), event, cause=cause, within=store)


async def _has_keys(override: str) -> bool:
    """Whether there is anything in it: the public client sends `{}` when it was given nothing."""
    parsed = await asyncio.to_thread(parse_yaml, override)
    return parsed.value not in (None, {})


def _check_place(row: ExperimentRow) -> None:
    if row.parent_archived:
        raise FailedPrecondition(
            f"experiment {row.id} cannot be continued: its project or workspace is archived; "
            "unarchive it first"
        )


def _check_search(row: ExperimentRow, changes: bool) -> None:
    continues_with = searcher_type(row.searcher_type).continues_with
    if continues_with == "incomplete":
        if changes:
            raise InvalidArgument(
                f"a {row.searcher_type} search is continued as it is: leave the override config "
                "out, or fork the experiment to change it"
            )
    elif continues_with == "none":
        raise InvalidArgument(
            f"experiment {row.id} has a {row.searcher_type} searcher: only experiments with a "
            "single, random or grid searcher can be continued; fork it instead"
        )


def _check_override(prepared: PreparedExperiment) -> None:
    name = prepared.built.typed.searcher_name
    if searcher_type(name).continues_with != "all":
        raise InvalidArgument(
            f"override config must have single searcher type got '{name}' instead"
        )


def _reopening(
    experiment_id: int, closed: list[tuple[str, str]], *, with_completed: bool
) -> Reopening:
    chosen = [(r, state) for r, state in closed if with_completed or state != "COMPLETED"]
    if not chosen:
        raise FailedPrecondition(
            f"experiment {experiment_id} has no trial to continue: "
            + ("none was ever made" if not closed else "all of them are completed")
        )
    states = [state for _, state in chosen]
    return Reopening(tuple(r for r, _ in chosen), states.count("ERROR"), states.count("CANCELED"))
