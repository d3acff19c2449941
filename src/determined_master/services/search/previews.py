"""Previews of a search, from its configuration alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from determined_master import entropy
from determined_master.domain.access import rules as access
from determined_master.domain.config.experiment import build_experiment
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.search.decision import SearchError, TrialCount
from determined_master.domain.search.method import build

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.domain.config.layers import ConfigLayers


class SearchPreview(msgspec.Struct, frozen=True):
    """The completed searcher, and how many trials train how long, shortest first."""

    searcher: dict[str, Any]
    trials: tuple[TrialCount, ...]
    warnings: tuple[str, ...]
    """About the configuration."""


class SearchPreviews:
    """Previews of searches."""

    def __init__(self, layers: ConfigLayers) -> None:
        self._layers = layers

    def preview(
        self, caller: Caller, config: Mapping[str, Any] | None, seed: int = 0
    ) -> SearchPreview:
        """Preview a search; only searcher and hyperparameters are required.

        Args:
            caller: the caller.
            config: an experiment's configuration, or that part of one.
            seed: of the search; 0 takes the configuration's, or any.

        Raises:
            InvalidArgument: there is no searcher, or the configuration has errors.
        """
        access.may(caller, "read", "experiment")
        if not config or not config.get("searcher"):
            raise InvalidArgument("invalid experiment configuration; missing searcher")
        given = {"hyperparameters": {}, **config}
        built = build_experiment(
            given,
            layers=self._layers,
            seed=seed or entropy.seed(),
            name="preview",
            is_managed=False,
        )
        typed = built.typed
        try:
            space, limits = typed.hyperparameters, self._layers.limits
            method = build(typed.searcher, space, seed or typed.seed, limits)
        except SearchError as error:
            raise InvalidArgument(f"invalid experiment configuration: {error}") from None
        return SearchPreview(built.config["searcher"], method.preview(), built.warnings)
