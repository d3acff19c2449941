"""What the master does for a search is asked of the searcher's type."""

from __future__ import annotations

from typing import get_args

import pytest

from determined_master.domain.config.sections.searcher import (
    SEARCHER,
    AsyncHalving,
    Common,
    Removed,
    SearcherConfig,
    Single,
    searcher_type,
)

NEEDS = ("wants_validations", "is_multitrial", "continues_with")


@pytest.mark.parametrize("kind", get_args(SearcherConfig), ids=lambda kind: kind.__name__)
def test_every_searcher_declares_what_its_search_needs(kind: type[Common]) -> None:
    assert {need for need in NEEDS if need in vars(kind)} == set(NEEDS)


@pytest.mark.parametrize("name", [*SEARCHER.variants, *SEARCHER.aliases])
def test_every_method_that_a_configuration_may_name_has_its_type(name: str) -> None:
    assert searcher_type(name) is not Removed


def test_aliases_and_removed_methods_have_types_too() -> None:
    assert searcher_type("asha") is AsyncHalving
    assert searcher_type("single") is Single
    assert searcher_type("custom") is searcher_type("sync_halving") is Removed
