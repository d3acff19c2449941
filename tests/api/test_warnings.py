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
