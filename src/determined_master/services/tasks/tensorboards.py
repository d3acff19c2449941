"""Use cases of TensorBoards: their sources, and what they inherit from these."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.records.experiments import ExperimentQuery
from determined_master.services.tasks.interactive_tasks import Sources
from determined_master.store.configs import templates
from determined_master.store.experiments import experiments, trials
from determined_master.store.experiments.lists import list_ids

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.tasks.interactive_configs import InteractiveLaunch
    from determined_master.services.tasks.interactive_tasks import InteractiveTasks, Launched
    from determined_master.store.db import Conn, Database


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The sources that a user asks for."""

    experiment_ids: Sequence[int] = ()
    trial_ids: Sequence[int] = ()
    filter: ExperimentQuery | None = None
    """Takes the place of the experiments when given."""


class Tensorboards:
    """TensorBoards of experiments and trials."""

    def __init__(self, db: Database, tasks: InteractiveTasks) -> None:
        self._db = db
        self._tasks = tasks

    async def launch(self, caller: Caller, new: InteractiveLaunch, shown: Shown) -> Launched:
        """Start one. It runs in the image of the newest experiment unless its user names another.

        An image of another user's experiment would run with the caller's token, and pulling it
        would use the other's credentials: then it runs in the default image.

        Raises:
            InvalidArgument: there is nothing to show, or the configuration has errors.
            NotFound: an experiment or trial does not exist, or the template or workspace.
        """
        access.may(caller, "read", "experiment")
        if not (shown.experiment_ids or shown.trial_ids or shown.filter is not None):
            raise InvalidArgument("must set experiment, trial ids, or filters")
        async with self._db.acquire() as conn:
            experiment_ids = await _experiments(conn, caller, shown)
            of_trials = await _experiments_of(conn, shown.trial_ids)
            newest = max((*experiment_ids, *of_trials))
            row = await experiments.find_experiment(conn, newest)
            if row is None:
                raise NotFound(f"experiment '{newest}' not found")
            template = await templates.find_template(conn, new.template) if new.template else None
        below = template.config if template is not None else {}
        config = new.config
        if access.is_owner(caller, row):
            config = inherited(config, below, row.config)
        sources = Sources(experiment_ids=experiment_ids, trial_ids=sorted(set(shown.trial_ids)))
        return await self._tasks.launch(
            caller, msgspec.structs.replace(new, config=config), sources
        )


def inherited(
    config: Mapping[str, Any], template: Mapping[str, Any], newest: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A configuration with the parts inherited from the newest experiment.

    These are its image, which can read what the experiment wrote, and the credentials and secrets
    to pull it; nothing if the user or the template names an image.
    """
    environment = config.get("environment") or {}
    below = template.get("environment") or {}
    if not isinstance(environment, Mapping) or not isinstance(below, Mapping):
        return config  # reported as an error
    if environment.get("image") or below.get("image"):
        return config
    source = newest.get("environment") or {}
    taken = {**environment, "image": source.get("image")}
    if not environment.get("registry_auth") and not below.get("registry_auth"):
        taken["registry_auth"] = source.get("registry_auth")
    secrets = _pull_secrets(source)
    is_readable = isinstance(environment.get("pod_spec") or {}, Mapping)
    if secrets and is_readable and not _pull_secrets(environment) and not _pull_secrets(below):
        taken["pod_spec"] = _with_pull_secrets(environment.get("pod_spec"), secrets)
    return {**config, "environment": taken}


def _pull_secrets(environment: Mapping[str, Any]) -> Any:
    """Of its pod spec; None where there is none, or none that can be read."""
    found: Any = environment
    for key in ("pod_spec", "spec", "imagePullSecrets"):
        found = found.get(key) if isinstance(found, Mapping) else None
    return found


def _with_pull_secrets(pod_spec: Mapping[str, Any] | None, secrets: Any) -> dict[str, Any]:
    pod = pod_spec or {}
    spec = pod.get("spec") or {}
    if not isinstance(spec, Mapping):
        return dict(pod)  # reported as an error
    return {**pod, "spec": {**spec, "imagePullSecrets": secrets}}


async def _experiments(conn: Conn, caller: Caller, shown: Shown) -> list[int]:
    """Ids of the experiments, ascending."""
    if shown.filter is not None:
        seen = access.visible(caller, "checkpoint")
        found = await list_ids(conn, msgspec.structs.replace(shown.filter, workspace_ids=seen))
        if not found and not shown.trial_ids:
            raise InvalidArgument("the filters match no experiment: there is nothing to show")
        return sorted(found)
    asked = sorted(set(shown.experiment_ids))
    found = await list_ids(conn, ExperimentQuery(ids=asked)) if asked else []
    _check_found("experiment", asked, found)
    return asked


async def _experiments_of(conn: Conn, trial_ids: Sequence[int]) -> list[int]:
    found = await trials.list_trials(conn, list(trial_ids))
    _check_found("trial", trial_ids, [row.id for row in found])
    return [row.experiment_id for row in found]


def _check_found(kind: str, asked: Sequence[int], found: Sequence[int]) -> None:
    present = set(found)
    missing = [i for i in asked if i not in present]
    if missing:
        raise NotFound(f"{kind} '{missing[0]}' not found")
