"""Use cases of experiments: creating, steering, reading."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

import msgspec

from determined_master import clock, entropy
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.access import rules as access
from determined_master.domain.config.masking import mask_config
from determined_master.domain.errors import Aborted, FailedPrecondition, NotFound
from determined_master.domain.experiment import messages as exp
from determined_master.domain.experiment.actions import ACTIONS
from determined_master.domain.experiment.model_definition import ModelFile, pack
from determined_master.domain.ids import ExperimentId
from determined_master.domain.states import TERMINAL
from determined_master.domain.workspaces.naming import check_length
from determined_master.engine.causes import OnlyOnce, UserRequest
from determined_master.records.experiments import ExperimentRow
from determined_master.services.cluster.pools import Pools
from determined_master.services.experiments.configs import ExperimentConfigs, PreparedExperiment
from determined_master.services.experiments.first_trials import FirstTrials
from determined_master.services.search.sources import check_source, hold_source
from determined_master.services.workspaces.checks import hold_project
from determined_master.store.experiments import detached
from determined_master.store.experiments import experiments as rows
from determined_master.store.row_locks import lock_experiment_with_runs

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.store.db import Conn


class Submission(msgspec.Struct, frozen=True, kw_only=True):
    """A request to create an experiment."""

    config: str
    files: Sequence[ModelFile] = ()
    activate: bool = False
    validate_only: bool = False
    project_id: int = 0
    parent_id: int = 0
    template: str | None = None
    idempotency_key: str | None = None
    is_detached: bool = False
    """Whether programs outside the cluster run its trials; wire: `unmanaged`."""
    external_id: str | None = None


class ModelDirectory(msgspec.Struct, frozen=True):
    """A model directory by its digest, with its contents when they are not stored yet."""

    digest: bytes | None = None
    size_bytes: int = 0
    tgz: bytes | None = None


class Experiments:
    """Experiments of all users."""

    def __init__(
        self, engine: Engine, db: asyncpg.Pool, configs: ExperimentConfigs, pools: Pools
    ) -> None:
        self._engine = engine
        self._db = db
        self._configs = configs
        self._pools = pools
        self._doors: WeakValueDictionary[tuple[int, str], asyncio.Lock] = WeakValueDictionary()

    async def create(
        self, caller: Caller, submission: Submission
    ) -> tuple[int | None, PreparedExperiment]:
        """Check a configuration and make the experiment.

        A repeated idempotency key of the same user returns the first answer again; an external
        name belongs to one experiment.

        Returns:
            The experiment's id, None when it was only to be checked; and its configuration.

        Raises:
            InvalidArgument: with every error of the configuration, or more slots than there are.
            NotFound: the parent, the template or the project does not exist.
            FailedPrecondition: the parent is archived with its project, or the project is.
        """
        check_length("the header Idempotency-Key", submission.idempotency_key or "")
        check_length("an external id", submission.external_id or "")
        prepared = await self._configs.prepare(
            submission.config,
            submission.template,
            submission.project_id,
            is_managed=not submission.is_detached,
            caller=caller,
        )
        resources = prepared.built.typed.resources
        prepared = msgspec.structs.replace(
            prepared,
            exceeds_slots=not submission.is_detached
            and self._pools.check_fit(
                resources.resource_pool,
                resources.slots_per_trial,
                is_single_node=resources.is_single_node,
            ),
        )
        await check_source(self._db, caller, prepared.built.typed.searcher)
        if submission.parent_id:
            await self._check_parent(caller, submission.parent_id)
        if submission.validate_only:
            return None, prepared
        if not submission.idempotency_key and submission.external_id is None:
            return await self._make(caller, submission, prepared), prepared
        # One after the other: the second of two at once finds the answer of the first.
        key = (caller.user_id, submission.idempotency_key or f"external {submission.external_id}")
        async with self._doors.setdefault(key, asyncio.Lock()):
            known = await self._known_answer(caller, submission)
            if known is None:
                known = await self._make(caller, submission, prepared)
        return known, prepared

    async def get(self, caller: Caller, experiment_id: int) -> ExperimentRow:
        """One experiment.

        Raises:
            NotFound: no experiment has that id.
        """
        async with self._db.acquire() as conn:
            row = await rows.find_experiment(conn, experiment_id)
        if row is None:
            raise NotFound(f"experiment '{experiment_id}' not found")
        missing = f"experiment '{experiment_id}' not found"
        access.may_see(caller, "experiment", row.workspace_id, missing)
        return row

    async def trial_ids(self, caller: Caller, experiment_id: int) -> list[int]:
        """Ids of its trials, ascending."""
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            return await rows.list_trial_ids(conn, experiment_id)

    async def original_config(self, caller: Caller, experiment_id: int) -> str:
        """The configuration as it was submitted.

        Where it holds secrets, others than its owner and admins are given the completed one
        without them: text that was written by hand cannot be masked for certain.
        """
        row = await self.get(caller, experiment_id)
        masked = mask_config(row.config)
        if masked != row.config and not caller.is_admin and caller.user_id != row.user_id:
            return msgspec.json.format(msgspec.json.encode(masked), indent=2).decode()
        async with self._db.acquire() as conn:
            return await rows.find_original_config(conn, experiment_id) or ""

    async def best_metric(self, caller: Caller, experiment_id: int) -> float:
        """The best value of the searcher's metric so far.

        Raises:
            NotFound: no trial has reported it yet.
        """
        row = await self.get(caller, experiment_id)
        if row.best_metric is None:
            raise NotFound(
                f"experiment {experiment_id} has no validation with {row.searcher_metric!r} yet"
            )
        return row.best_metric if row.smaller_is_better else -row.best_metric

    async def model_definition(self, caller: Caller, experiment_id: int) -> bytes:
        """The model directory as tar.gz; empty when there is none."""
        await self.get(caller, experiment_id)
        async with self._db.acquire() as conn:
            return await rows.find_model_definition(conn, experiment_id) or b""

    async def activate(self, caller: Caller, experiment_id: int) -> None:
        """Let it run."""
        await self._steer(caller, experiment_id, exp.ExperimentActivated())

    async def pause(self, caller: Caller, experiment_id: int) -> None:
        """Ask every trial to save its work and give its slots back."""
        await self._steer(caller, experiment_id, exp.ExperimentPaused())

    async def cancel(self, caller: Caller, experiment_id: int) -> None:
        """End it; trials may save their work first. Ending an ended one changes nothing."""
        await self._steer(caller, experiment_id, exp.ExperimentCanceled())

    async def kill(self, caller: Caller, experiment_id: int) -> None:
        """End it at once. Ending an ended one changes nothing."""
        await self._steer(caller, experiment_id, exp.ExperimentKilled())

    async def delete(self, caller: Caller, experiment_id: int) -> None:
        """Delete an ended experiment with all its results; that continues after the answer.

        Raises:
            FailedPrecondition: it has not ended.
            PermissionDenied: it belongs to another user.
        """
        row = await self.get(caller, experiment_id)
        access.may(
            caller,
            "delete",
            "experiment",
            owner_id=row.user_id,
            workspace_id=row.workspace_id,
        )
        await self._steer(caller, experiment_id, exp.DeletionRequested())

    async def archive(self, caller: Caller, experiment_id: int, *, archived: bool) -> None:
        """Hide an ended experiment from lists, or show it again."""
        row = await self.get(caller, experiment_id)
        access.may_control(caller, "experiment", row)
        if row.state not in ACTIONS["archive"].states:
            raise FailedPrecondition(
                f"experiment {experiment_id} is in state {row.state}: cancel it or let it end, "
                "only an experiment in terminal state can be archived"
            )
        if row.archived is archived:
            word = "already archived" if archived else "not archived"
            raise FailedPrecondition(f"experiment {experiment_id} is {word}")
        async with self._db.acquire() as conn, conn.transaction():
            await lock_experiment_with_runs(conn, experiment_id)
            await rows.update_details(conn, experiment_id, {"archived": archived})

    async def labels(self, caller: Caller, project_id: int) -> list[str]:
        """Labels of a project's experiments, of all for project 0; the most used first."""
        access.may(caller, "read", "experiment")
        async with self._db.acquire() as conn:
            return await rows.list_labels(
                conn, project_id or None, among=access.visible(caller, "experiment")
            )

    async def _make(
        self, caller: Caller, submission: Submission, prepared: PreparedExperiment
    ) -> int:
        if submission.files:
            model = await asyncio.to_thread(_packed, submission.files)
        elif submission.parent_id:
            model = await self._model_of(submission.parent_id)
        else:
            model = ModelDirectory()
        return await self._store(caller, submission, prepared, model)

    async def _steer(self, caller: Caller, experiment_id: int, event: exp.ExperimentEvent) -> None:
        row = await self.get(caller, experiment_id)
        access.may_control(caller, "experiment", row)
        is_end = isinstance(event, exp.ExperimentCanceled | exp.ExperimentKilled)
        if is_end and row.state in TERMINAL:
            return  # its story would have a line of nothing
        cause = UserRequest(caller.user_id, entropy.new_uuid())
        await self._engine.post(EXPERIMENT, ExperimentId(experiment_id), event, cause=cause)

    async def _check_parent(self, caller: Caller, parent_id: int) -> None:
        parent = await self.get(caller, parent_id)
        if parent.parent_archived:
            raise FailedPrecondition(
                f"experiment {parent_id} cannot be forked: its project or workspace is archived; "
                "unarchive it first"
            )

    async def _model_of(self, parent_id: int) -> ModelDirectory:
        async with self._db.acquire() as conn:
            found = await rows.find_model_digest(conn, parent_id)
        return ModelDirectory(*found) if found else ModelDirectory()

    async def _store(
        self,
        caller: Caller,
        submission: Submission,
        prepared: PreparedExperiment,
        model: ModelDirectory,
    ) -> int:
        async with self._db.acquire() as conn:
            experiment_id = await rows.next_experiment_id(conn)
        searcher, place = prepared.built.typed.searcher, prepared.place
        assert place is not None
        new = _new_experiment(caller, submission, prepared, model, experiment_id)

        async def store(conn: Conn) -> None:
            await hold_project(conn, place)
            await hold_source(conn, searcher)
            if model.digest is not None and model.tgz is not None:
                await rows.insert_model_definition(conn, model.digest, model.tgz)
            await rows.insert_experiment(conn, new)
            if submission.idempotency_key:
                answer = {"experiment_id": experiment_id}
                await rows.insert_answer(conn, caller.user_id, submission.idempotency_key, answer)

        first_trials = FirstTrials(self._engine, experiment_id)
        try:
            created = await self._engine.post(
                EXPERIMENT,
                ExperimentId(experiment_id),
                _creation(caller, experiment_id, submission),
                cause=OnlyOnce("created"),
                within=store,
            )
            if created.state is not None:
                await first_trials.wait(created.state.trials_requested)
        except Aborted:
            # The same request came through another process and was first.
            known = await self._known_answer(caller, submission)
            if known is None:
                raise
            return known
        finally:
            first_trials.close()
        return experiment_id

    async def _known_answer(self, caller: Caller, submission: Submission) -> int | None:
        """The experiment that an earlier request for the same one has made."""
        async with self._db.acquire() as conn:
            if submission.external_id is not None:
                found = await detached.find_experiment_id(conn, submission.external_id)
                if found is not None:
                    return found
            if not submission.idempotency_key:
                return None
            answer = await rows.find_answer(conn, caller.user_id, submission.idempotency_key)
        return None if answer is None else int(answer["experiment_id"])


def _packed(files: Sequence[ModelFile]) -> ModelDirectory:
    tgz = pack(files)
    return ModelDirectory(hashlib.sha256(tgz).digest(), len(tgz), tgz)


def _new_experiment(
    caller: Caller,
    submission: Submission,
    prepared: PreparedExperiment,
    model: ModelDirectory,
    experiment_id: int,
) -> rows.NewExperiment:
    config, place = prepared.built.typed, prepared.place
    assert place is not None
    return rows.NewExperiment(
        id=experiment_id,
        job_id=str(entropy.new_uuid()),
        user_id=caller.user_id,
        workspace_id=place.workspace_id,
        project_id=place.project_id,
        name=config.name,
        description=config.description,
        labels=list(config.labels),
        config=prepared.built.config,
        original_config=submission.config,
        seed=config.seed,
        searcher_type=config.searcher_name,
        searcher_metric=config.searcher.metric,
        smaller_is_better=config.searcher.smaller_is_better,
        resource_pool=config.resources.resource_pool,
        model_digest=model.digest,
        model_size=model.size_bytes,
        started_at=clock.now(),
        forked_from=submission.parent_id or None,
        unmanaged=submission.is_detached,
        external_id=submission.external_id,
        config_changes=list(prepared.built.changes),
    )


def _creation(
    caller: Caller, experiment_id: int, submission: Submission
) -> exp.ExperimentCreated | exp.ExperimentDetached:
    if submission.is_detached:
        return exp.ExperimentDetached(experiment_id=experiment_id)
    return exp.ExperimentCreated(
        experiment_id=experiment_id, activate=submission.activate, user_id=caller.user_id
    )
