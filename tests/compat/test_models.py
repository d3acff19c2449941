"""`det model` 0.38.1 against our master."""

from __future__ import annotations

from typing import Any

import pytest
from tests.compat.client import Client

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


def test_a_model_is_made_listed_described_and_deleted(
    client: Client, checkpoints: list[dict[str, Any]]
) -> None:
    uuid = checkpoints[-1]["uuid"]
    client.det("model", "create", "compat-m", "--description", "told")
    client.det("model", "register-version", "compat-m", uuid)
    [listed] = client.det("model", "list", "--json").json()
    assert listed["name"] == "compat-m", listed
    assert uuid in client.det("model", "list-versions", "compat-m").out
    assert uuid in client.det("model", "describe", "compat-m").out
    client.det("model", "move", "compat-m", "-w", "Uncategorized")
    client.det("model", "delete", "compat-m", typed="y\n")
    assert "compat-m" not in client.det("model", "list").out
