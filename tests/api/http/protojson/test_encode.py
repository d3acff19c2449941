"""Answers, in the forms that clients of the public API read."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from determined_master.api.http.protojson import encode, raw_json
from determined_wire.rest.checkpoints import GetCheckpointResponse
from determined_wire.rest.experiments import GetModelDefTreeResponse
from determined_wire.rest.trials import GetTrialResponse
from determined_wire.rest.types.checkpoint import Checkpoint
from determined_wire.rest.types.experiment import Experiment, FileNode
from determined_wire.rest.types.trial import Trial
from determined_wire.rest.types.user import User
from determined_wire.rest.types.util import File


def parsed(message: Any) -> Any:
    return json.loads(encode(message))


def test_plain_fields_are_always_there_null_for_messages_and_absent_when_optional() -> None:
    assert parsed(User(id=1, username="a")) == {
        "id": 1,
        "username": "a",
        "admin": False,
        "active": False,
        "agentUserGroup": None,
        "displayName": "",
        "modifiedAt": None,
        "remote": False,
    }


def test_integers_of_64_bits_are_text_in_fields_and_maps() -> None:
    message = GetCheckpointResponse(checkpoint=Checkpoint(resources={"b": 2, "a/": 0}))
    text = encode(message)
    assert b'"resources":{"a/":"0","b":"2"}' in text
    assert parsed(Trial(total_checkpoint_size=2**63))["totalCheckpointSize"] == str(2**63)
    assert parsed(File(mtime=5, mode=33188))["mtime"] == "5"


@pytest.mark.parametrize(
    ("microsecond", "shown"),
    [(0, "20Z"), (46_000, "20.046Z"), (375_795, "20.375795Z"), (451_280, "20.451280Z")],
)
def test_times_have_the_shortest_exact_fraction(microsecond: int, shown: str) -> None:
    moment = datetime(2026, 11, 21, 5, 0, 20, microsecond, UTC)
    assert parsed(User(modified_at=moment))["modifiedAt"] == f"2026-11-21T05:00:{shown}"
    moved = moment.astimezone(timezone(timedelta(hours=2)))
    assert parsed(User(modified_at=moved))["modifiedAt"] == f"2026-11-21T05:00:{shown}"


def test_free_objects_are_sorted_with_whole_numbers_and_no_nan() -> None:
    values = {"b": 1.0, "a": float("nan"), "c": [float("inf"), -float("inf"), 0.5], "é<": None}
    text = encode(Trial(hparams=values))
    assert (
        '"hparams":{"a":"NaN","b":1,"c":["Infinity","-Infinity",0.5],"é<":null}'.encode() in text
    )


def test_numbers_are_plain_or_the_names_of_what_json_cannot_say() -> None:
    assert b'"wallClockTime":2,' in encode(Trial(wall_clock_time=2.0))
    assert parsed(Trial(wall_clock_time=float("nan")))["wallClockTime"] == "NaN"


def test_stored_json_is_written_without_being_parsed() -> None:
    message = Experiment(config=raw_json('{"name":  "x"}'))
    assert b'"config":{"name":  "x"}' in encode(message)


def test_enums_bytes_and_recursive_messages_are_written() -> None:
    tree = GetModelDefTreeResponse(files=[FileNode(name="d", files=[FileNode(name="f")])])
    assert parsed(tree)["files"][0]["files"][0]["name"] == "f"
    assert parsed(File(content=b"hi"))["content"] == "aGk="
    trial = parsed(GetTrialResponse(trial=Trial()))["trial"]
    assert trial["state"] == "STATE_UNSPECIFIED"
