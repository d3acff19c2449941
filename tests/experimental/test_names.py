"""The public client has every class, method, parameter and attribute of 0.38.1."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any

import pytest

from determined.common import experimental
from determined.common.api import UnauthSession
from determined.experimental import client

LISTED = Path(__file__).parents[1] / "data" / "client.txt"


def listed() -> list[tuple[str, str, bool]]:
    """(class, what it has, whether that is a function), as the reference lists them."""
    found, owner = [], ""
    for line in LISTED.read_text().splitlines():
        named = re.match(r"- class `(\w+)", line)
        if named:
            owner = named.group(1)
        member = re.match(r"  - (attr )?`(.*)`$", line)
        if member:
            found.append((owner, member.group(2), not member.group(1)))
    return found


def made(owner: str) -> Any:
    """The class, or an instance of it that has asked the master nothing."""
    if owner == "client":
        return client
    kind = getattr(experimental, owner)
    session = UnauthSession("http://127.0.0.1:1")
    if owner in ("Project", "Checkpoint"):
        return kind(session, 1)
    if owner in ("Experiment", "ExperimentReference", "Trial", "TrialReference"):
        return kind(1, session)
    if owner == "Model":
        return kind(session, "m")
    if owner == "ModelVersion":
        return kind(session, 1, "m")
    return kind


FUNCTIONS = [(owner, text) for owner, text, is_function in listed() if is_function]
ATTRIBUTES = [(owner, text) for owner, text, is_function in listed() if not is_function]


@pytest.mark.parametrize(("owner", "text"), FUNCTIONS)
def test_a_function_takes_what_it_is_known_to_take(owner: str, text: str) -> None:
    name, _, rest = text.partition("(")
    wanted = ast.parse(f"def f({rest}: ...").body[0]
    assert isinstance(wanted, ast.FunctionDef)
    given = wanted.args
    names = [a.arg for a in (*given.args, *given.kwonlyargs)]
    found = getattr(made(owner), name)
    there = list(inspect.signature(found).parameters)
    there = there[1:] if there[:1] == ["self"] else there
    if owner in ("TrainingMetrics", "ValidationMetrics"):
        names = names[: names.index("total_batches") + 1]
    assert [n for n in there if n in names] == names


@pytest.mark.parametrize(("owner", "text"), ATTRIBUTES)
def test_an_attribute_is_there(owner: str, text: str) -> None:
    name = re.split(r"[:= ]", text)[0]
    thing = made(owner)
    fields = getattr(thing, "__dataclass_fields__", {})
    assert hasattr(thing, name) or name in fields


def test_the_list_is_read() -> None:
    assert len(FUNCTIONS) > 90
    assert len(ATTRIBUTES) > 50
