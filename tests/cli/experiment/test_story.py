"""`det ... story`: the master's sentences, with their times."""

from __future__ import annotations

import json

import pytest
from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

LINE = {
    "at": "2026-01-31T12:00:00.123456Z",
    "aggregate": "experiment 7",
    "event": "experiment_paused",
    "cause": "request:1:x",
    "text": "experiment 7  experiment paused  by user 1",
}


@pytest.mark.parametrize("kind", ["experiment", "trial"])
def test_a_story_is_printed_as_the_master_words_it(
    det: Det, master: FakeMaster, kind: str
) -> None:
    path = f"/api/v1/{kind}s/7/story"
    master.routes["GET", path] = (200, {"lines": [LINE], "reason": "no luck"})
    assert det(kind, "story", "7").out == (
        "2026-01-31T12:00:00.123Z  experiment 7  experiment paused  by user 1\nReason: no luck\n"
    )
    assert json.loads(det(kind, "story", "7", "--json").out) == LINE
    det(kind, "story", "7", "--verbose")
    asked = [call.query.get("isVerbose") for call in master.made("GET", path)]
    assert asked == [None, None, ["true"]]
