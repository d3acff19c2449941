"""What the author of a configuration should know, although it can be used."""

from __future__ import annotations

import msgspec
from tests.api.samples import World

CONFIG = """
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
hyperparameters:
  augment: yes
"""


async def test_a_word_that_looks_like_a_boolean_is_reported_with_its_line(world: World) -> None:
    admin = world.clients["admin"]
    answer = await admin("POST", "/api/v1/experiments", {"config": CONFIG, "validateOnly": True})
    assert answer.status == 200
    [text] = msgspec.json.decode(answer.headers["x-determined-config-warnings"])
    assert text.startswith("line 5: `yes` is read as a text")
    quoted = CONFIG.replace("yes", '"yes"')
    answer = await admin("POST", "/api/v1/experiments", {"config": quoted, "validateOnly": True})
    assert "x-determined-config-warnings" not in answer.headers


async def test_a_preview_of_a_search_warns_like_a_creation(world: World) -> None:
    admin = world.clients["admin"]
    exponents = {"type": "log", "base": 10, "minval": 0.0001, "maxval": 0.1}
    config = {
        "searcher": {"name": "random", "metric": "loss", "max_trials": 2},
        "hyperparameters": {"lr": exponents},
    }
    answer = await admin("POST", "/api/v1/preview-hp-search", {"config": config})
    [text] = msgspec.json.decode(answer.headers["x-determined-config-warnings"])
    assert "hyperparameters.lr: minval and maxval are exponents" in text
