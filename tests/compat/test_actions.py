"""Bulk actions, templates, gangs and large models through the bindings of 0.38.1."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compat.client import Client
from tests.e2e.cluster import PASSWORD

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


@pytest.fixture(scope="module")
def found(client: Client) -> dict[str, Any]:
    """The answers that the script got."""
    answers: dict[str, Any] = client.script("sdk_actions.py", "admin", PASSWORD)
    return answers


def test_a_continued_search_is_answered_with_its_trials(found: dict[str, Any]) -> None:
    assert found["continued"] == 2


@pytest.mark.parametrize("by", ["ids", "filter"])
def test_every_bulk_action_on_any_project_acts(found: dict[str, Any], by: str) -> None:
    none, over = ["", ""], ["STATE_CANCELED"] * 2
    assert found["bulk"][by] == [
        ["Pause", none, ["STATE_PAUSED"] * 2, [False, False]],
        ["Activate", none, ["STATE_QUEUED"] * 2, [False, False]],
        ["Cancel", none, over, [False, False]],
        ["Archive", none, over, [True, True]],
        ["Unarchive", none, over, [False, False]],
        ["Move", none, [True, True]],
        ["Kill", [""], ["STATE_CANCELED"]],
    ]


def test_runs_of_a_search_are_neither_paused_nor_resumed(found: dict[str, Any]) -> None:
    assert found["resumed"] == [[*found["refusals"], ""]] * 2


def test_a_policy_that_matches_nothing_does_not_count_as_a_restart(found: dict[str, Any]) -> None:
    assert found["restarts"] == 1


def test_a_gang_whose_ranks_were_killed_while_it_failed_ends_as_an_error(
    found: dict[str, Any],
) -> None:
    assert found["gang"] == "STATE_ERROR"


def test_shells_notebooks_and_tensorboards_start_by_a_template(found: dict[str, Any]) -> None:
    assert found["slots"] == {"shell": 0, "notebook": 0, "tensorboard": 0}
    assert found["described"] == ["any kind"] * 2


def test_a_tensorboard_takes_over_the_image_pull_secrets(found: dict[str, Any]) -> None:
    assert found["secrets"]


def test_a_model_directory_of_94_mb_goes_through(found: dict[str, Any]) -> None:
    assert found["large"]


def test_the_project_that_a_user_opened_is_the_first_of_the_list(found: dict[str, Any]) -> None:
    assert found["opened"] == "target"
