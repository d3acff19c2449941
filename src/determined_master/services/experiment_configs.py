"""From the text of a configuration to the experiment that will run."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import entropy
from determined_master.domain.config.experiment import BuiltExperiment, build_experiment
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.search.method import SearchError, build
from determined_master.services.names import pet_name
from determined_master.services.yaml_text import parse_yaml
from determined_master.store import templates

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.config.experiment import ConfigLayers


class Prepared(msgspec.Struct, frozen=True):
    """A checked and completed configuration."""

    built: BuiltExperiment
    warnings: tuple[str, ...] = ()
    exceeds_slots: bool = False
    """Whether a trial asks for more slots than its pool has now."""


class ExperimentConfigs:
    """Builds configurations from what users submit and what the cluster's admin has set."""

    def __init__(self, pool: asyncpg.Pool, layers: ConfigLayers) -> None:
        self._pool = pool
        self._layers = layers

    async def prepare(
        self, text: str, template: str | None, *, is_managed: bool = True
    ) -> Prepared:
        """Check a configuration and fill it up; that of a detached one needs no entrypoint.

        Raises:
            InvalidArgument: it has errors; all of them are named with their paths.
            NotFound: the template does not exist.
        """
        layers = await self._with_template(template) if template else self._layers
        parsed = await asyncio.to_thread(parse_yaml, text)  # 5 ms for 25 lines
        name = f"Experiment ({pet_name()})"
        built = build_experiment(
            parsed.value, layers=layers, seed=entropy.seed(), name=name, is_managed=is_managed
        )
        try:
            build(built.typed.searcher, built.typed.hyperparameters, built.typed.seed)
        except SearchError as error:
            raise InvalidArgument(f"invalid experiment configuration: {error}") from None
        return Prepared(built, (*parsed.warnings, *built.warnings))

    async def override(self, text: str, config: Mapping[str, Any]) -> Prepared:
        """Lay YAML over a stored configuration, and check and fill up the whole.

        Raises:
            InvalidArgument: the result has errors, or the text moves the experiment.
        """
        parsed = await asyncio.to_thread(parse_yaml, text)
        if isinstance(parsed.value, Mapping) and {"workspace", "project"} & parsed.value.keys():
            raise InvalidArgument(
                "override config must not set workspace or project: move the experiment instead"
            )
        layers = msgspec.structs.replace(self._layers, template=config)
        seed = int(config["reproducibility"]["experiment_seed"])
        built = build_experiment(parsed.value or {}, layers=layers, seed=seed, name=config["name"])
        return Prepared(built, (*parsed.warnings, *built.warnings))

    async def _with_template(self, name: str) -> ConfigLayers:
        async with self._pool.acquire() as conn:
            row = await templates.find_template(conn, name)
        if row is None:
            raise NotFound(f"template '{name}' not found")
        return msgspec.structs.replace(self._layers, template=row.config)
