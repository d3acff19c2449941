"""From the text of a configuration to the experiment that will run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import entropy
from determined_master.domain.access import rules as access
from determined_master.domain.config.experiment import BuiltExperiment, build_experiment
from determined_master.domain.config.experiment_config import ExperimentConfig
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.search.method import SearchError, build
from determined_master.entropy import pet_name
from determined_master.services.configs.policies import policies_of
from determined_master.services.configs.templates import source_of
from determined_master.services.configs.workspace_layers import FIRST_PROJECT_ID, in_workspace
from determined_master.services.workspaces.checks import check_place
from determined_master.settings.yaml_text import parse_yaml
from determined_master.store.configs import templates
from determined_master.store.workspaces import projects
from determined_master.store.workspaces.projects import ProjectRef

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.domain.config.experiment import ConfigLayers


class PreparedExperiment(msgspec.Struct, frozen=True):
    """A checked and completed configuration."""

    built: BuiltExperiment
    warnings: tuple[str, ...] = ()
    place: ProjectRef | None = None
    """Where it goes; None for one that is there already."""
    exceeds_slots: bool = False
    """Whether a trial asks for more slots than its pool has now."""


class ExperimentConfigs:
    """Builds configurations from what users submit and admins have set."""

    def __init__(self, db: asyncpg.Pool, layers: ConfigLayers) -> None:
        self._db = db
        self._layers = layers

    async def prepare(
        self,
        text: str,
        template: str | None,
        project_id: int = 0,
        *,
        is_managed: bool = True,
        caller: Caller | None = None,
    ) -> PreparedExperiment:
        """Check and complete a configuration; that of a detached experiment needs no entrypoint.

        The experiment goes to the project that is named by its id; else to that which
        `workspace` and `project` of the configuration name; else to the first one.

        Raises:
            InvalidArgument: it has errors; all of them are named with their paths.
            NotFound: the template or the project does not exist, or the caller does not see it.
            PermissionDenied: the caller may not create experiments there.
            FailedPrecondition: the project is archived or being deleted.
        """
        layers = await self._with_template(template, caller) if template else self._layers
        parsed = await asyncio.to_thread(parse_yaml, text)  # 5 ms for 25 lines
        place = await self._place(project_id, (parsed.value, layers.template), caller)
        async with self._db.acquire() as conn:
            layers = await in_workspace(conn, layers, place)
        name = f"Experiment ({pet_name()})"
        # In a thread: a hundred thousand hyperparameters take a second.
        built = await asyncio.to_thread(
            build_experiment,
            parsed.value,
            layers=layers,
            seed=entropy.seed(),
            name=name,
            is_managed=is_managed,
        )
        typed = built.typed
        try:
            space, limits = typed.hyperparameters, layers.limits
            await asyncio.to_thread(build, typed.searcher, space, typed.seed, limits)
        except SearchError as error:
            raise InvalidArgument(f"invalid experiment configuration: {error}") from None
        check_place(place)
        return PreparedExperiment(built, (*parsed.warnings, *built.warnings), place)

    async def override(
        self, text: str, config: Mapping[str, Any], *, workspace_id: int
    ) -> PreparedExperiment:
        """Lay YAML over a stored configuration, and check and fill up the whole.

        The policies of its workspace are laid over it again.

        Raises:
            InvalidArgument: the result has errors, or the text moves the experiment.
        """
        parsed = await asyncio.to_thread(parse_yaml, text)
        if isinstance(parsed.value, Mapping) and {"workspace", "project"} & parsed.value.keys():
            raise InvalidArgument(
                "override config must not set workspace or project: move the experiment instead"
            )
        async with self._db.acquire() as conn:
            policies = await policies_of(conn, workspace_id)
        layers = msgspec.structs.replace(self._layers, template=config, policies=policies)
        stored = ExperimentConfig(config)
        built = await asyncio.to_thread(
            build_experiment, parsed.value or {}, layers=layers, seed=stored.seed, name=stored.name
        )
        return PreparedExperiment(built, (*parsed.warnings, *built.warnings))

    async def _with_template(self, name: str, caller: Caller | None) -> ConfigLayers:
        async with self._db.acquire() as conn:
            row = await templates.find_template(conn, name)
        missing = f"template '{name}' not found"
        if row is None:
            raise NotFound(missing)
        if caller is not None:
            access.may_see(caller, "template", row.workspace_id, missing)
        return msgspec.structs.replace(
            self._layers,
            template=row.config,
            template_source=None if caller is None else source_of(row, caller.user_id),
        )

    async def _place(
        self, project_id: int, configs: Sequence[Any], caller: Caller | None
    ) -> ProjectRef:
        async with self._db.acquire() as conn:
            if project_id:
                found = await projects.find_place(conn, project_id)
                missing = f"project '{project_id}' not found"
            else:
                workspace, project = (_named(configs, key) for key in ("workspace", "project"))
                if not (workspace and project):  # a missing one is reported with other errors
                    found = await projects.find_place(conn, FIRST_PROJECT_ID)
                    missing = f"project '{FIRST_PROJECT_ID}' not found"
                    return _must(found, missing, caller, is_named=False)
                found = await projects.find_named_place(conn, workspace, project)
                missing = f"workspace/project '{workspace}/{project}' not found"
        return _must(found, missing, caller)


def _named(configs: Sequence[Any], key: str) -> str:
    """The first name that configurations give; other types are reported with other errors."""
    for config in configs:
        value = config.get(key) if isinstance(config, Mapping) else None
        if isinstance(value, str) and value:
            return value
    return ""


def _must(
    found: ProjectRef | None, missing: str, caller: Caller | None, *, is_named: bool = True
) -> ProjectRef:
    """The project, if the caller may create experiments there; one that is named must be seen."""
    if found is None:
        raise NotFound(missing)
    if caller is not None:
        if is_named:
            access.may_see(caller, "project", found.workspace_id, missing)
        access.may(caller, "create", "experiment", workspace_id=found.workspace_id)
    return found
