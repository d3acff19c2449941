"""From the text of a configuration to the experiment that will run."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import msgspec

from determined_master import entropy
from determined_master.domain.config.experiment import BuiltExperiment, build_experiment
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.search.method import SearchError, build
from determined_master.services.names import pet_name
from determined_master.services.yaml_text import parse_yaml

if TYPE_CHECKING:
    from determined_master.domain.config.experiment import ConfigLayers


class Prepared(msgspec.Struct, frozen=True):
    """A checked and completed configuration."""

    built: BuiltExperiment
    warnings: tuple[str, ...] = ()
    exceeds_slots: bool = False
    """Whether a trial asks for more slots than its pool has now."""


class ExperimentConfigs:
    """Builds configurations from what users submit and what the cluster's admin has set."""

    def __init__(self, layers: ConfigLayers) -> None:
        self._layers = layers

    async def prepare(self, text: str, template: str | None) -> Prepared:
        """Check a configuration and fill it up.

        Raises:
            InvalidArgument: it has errors; all of them are named with their paths.
            NotFound: the template does not exist.
        """
        if template:
            raise NotFound(f"template '{template}' not found")
        parsed = await asyncio.to_thread(parse_yaml, text)  # 5 ms for 25 lines
        name = f"Experiment ({pet_name()})"
        built = build_experiment(parsed.value, layers=self._layers, seed=entropy.seed(), name=name)
        try:
            build(built.typed.searcher, built.typed.hyperparameters, built.typed.seed)
        except SearchError as error:
            raise InvalidArgument(f"invalid experiment configuration: {error}") from None
        return Prepared(built, (*parsed.warnings, *built.warnings))
