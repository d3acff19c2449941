"""The declaration of a route's access: which things of a request it names."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from determined_master.api.http.access import (
    ALL,
    Need,
    claims_of,
    find_foreign,
    maybe,
    of_task,
    on,
    on_any,
    rule_of,
    upsert,
)
from determined_master.domain.access.rules import TaskScope
from determined_master.services.access.guard import Claim

SCOPE = TaskScope(task_id="1.a", allocation_id="1.a.1", trial_id=3, experiment_id=2)


class Inner(msgspec.Struct):
    id: Any = None
    trial: Any = None


class Request(msgspec.Struct):
    """As a message of the API: fields, lists of messages, messages that are left out."""

    id: Any = None
    ids: Any = ()
    inner: Inner | None = None
    items: Any = ()


def claim(name: str = "experiment", *ids: str, **fields: Any) -> Claim:
    return Claim(
        name, list(ids), **{"action": "read", "kind": None, "may_be_missing": False} | fields
    )  # type: ignore[arg-type]


def test_a_route_that_only_shows_a_thing_asks_whether_its_caller_sees_it() -> None:
    [found] = claims_of([on("experiment", "id")], Request(id=7), {})
    assert (found.action, found.kind, found.may_be_missing) == ("read", None, False)
    assert found == claim("experiment", "7")


def test_a_declaration_carries_action_and_kind_into_the_claim() -> None:
    needs = [on("checkpoint", "id", "delete", "checkpoint")]
    assert claims_of(needs, Request(id="u"), {}) == [
        claim("checkpoint", "u", action="delete", kind="checkpoint")
    ]


def test_each_thing_of_a_list_is_claimed_once_in_the_order_of_the_request() -> None:
    request = Request(ids=[3, 1, 3, 2])
    assert claims_of([on("experiment", "ids")], request, {}) == [
        claim("experiment", "3", "1", "2")
    ]


def test_a_dotted_field_reaches_through_messages_and_lists() -> None:
    request = Request(inner=Inner(id=5), items=[Inner(trial=1), Inner(trial=2)])
    found = claims_of([on("experiment", "inner.id"), on("trial", "items.trial")], request, {})
    assert found == [claim("experiment", "5"), claim("trial", "1", "2")]


@pytest.mark.parametrize("nothing", [0, "", None])
def test_only_an_optional_thing_may_be_left_out(nothing: object) -> None:
    assert (
        claims_of([maybe("project", "id", "create", "experiment")], Request(id=nothing), {}) == []
    )
    [found] = claims_of([on("project", "id")], Request(id=nothing), {})
    assert found.names == [str(nothing)]


def test_an_optional_thing_that_is_named_is_claimed() -> None:
    needs = [maybe("project", "id", "create", "experiment")]
    assert claims_of(needs, Request(id=4), {}) == [
        claim("project", "4", action="create", kind="experiment")
    ]


def test_an_optional_thing_without_an_action_must_only_be_seen() -> None:
    assert claims_of([maybe("template", "id")], Request(id="t"), {}) == [claim("template", "t")]


def test_a_message_that_is_left_out_names_nothing_that_an_optional_field_claims() -> None:
    assert claims_of([maybe("project", "inner.id")], Request(), {}) == []


def test_the_number_for_all_claims_nothing_where_it_is_declared_and_else_itself() -> None:
    assert ALL == -1
    needs = [on_any("project", "id", "edit", "project")]
    assert claims_of(needs, Request(id=ALL), {}) == []
    assert claims_of(needs, Request(id=9), {}) == [
        claim("project", "9", action="edit", kind="project")
    ]
    [found] = claims_of(needs, Request(id=None), {})
    assert found.names == ["None"]
    [found] = claims_of([on("project", "id")], Request(id=ALL), {})
    assert found.names == ["-1"]


def test_a_name_that_may_be_new_says_so() -> None:
    assert claims_of([upsert("template", "id", "edit", "template")], Request(id="n"), {}) == [
        claim("template", "n", action="edit", kind="template", may_be_missing=True)
    ]


def test_a_plain_route_names_things_in_its_path_alone() -> None:
    found = claims_of([on("task", "task_id", "control", "task")], None, {"task_id": "t", "x": "y"})
    assert found == [claim("task", "t", action="control", kind="task")]


def test_needs_are_claimed_in_the_order_of_the_declaration() -> None:
    needs = [maybe("project", "id"), on("experiment", "ids")]
    assert claims_of(needs, Request(ids=[1]), {}) == [claim("experiment", "1")]
    assert [c.thing for c in claims_of(needs, Request(id=2, ids=[1]), {})] == [
        "project",
        "experiment",
    ]


def test_a_single_need_stands_for_a_rule_of_one() -> None:
    need = Need("model", "id")
    assert rule_of(need) == (need,)
    assert rule_of((need, need)) == (need, need)
    assert rule_of("filtered") == "filtered"


def test_without_a_field_a_task_may_always_call_the_route() -> None:
    assert of_task() == ()
    assert find_foreign(of_task(), SCOPE, Request(id="another")) is None


def test_a_field_is_compared_with_the_attribute_of_its_name_or_the_one_given() -> None:
    assert of_task("trial_id") == (("trial_id", "trial_id"),)
    assert of_task("id", "trial_id") == (("id", "trial_id"),)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        (Request(id=3), None),
        (Request(id=4), ("trial", "4")),
        (Request(id=None), ("trial", "None")),
        (Request(id="3"), ("trial", "3")),
    ],
)
def test_a_tasks_request_names_only_things_of_that_task(
    request_: Request, expected: tuple[str, str] | None
) -> None:
    assert find_foreign(of_task("id", "trial_id"), SCOPE, request_) == expected


def test_every_thing_of_a_tasks_list_is_compared() -> None:
    rule = of_task("items.trial", "trial_id")
    assert find_foreign(rule, SCOPE, Request(items=[Inner(trial=3), Inner(trial=3)])) is None
    request = Request(items=[Inner(trial=3), Inner(trial=8)])
    assert find_foreign(rule, SCOPE, request) == ("trial", "8")


def test_every_field_of_a_tasks_rule_is_compared() -> None:
    rule = of_task("id", "trial_id") + of_task("inner.id", "experiment_id")
    assert find_foreign(rule, SCOPE, Request(id=3, inner=Inner(id=2))) is None
    assert find_foreign(rule, SCOPE, Request(id=3, inner=Inner(id=1))) == ("experiment", "1")
    assert find_foreign(rule, SCOPE, Request(id=3)) == ("experiment", "None")


def test_a_command_has_no_trial_to_name() -> None:
    command = TaskScope(task_id="b", allocation_id="b.1")
    assert find_foreign(of_task("id", "trial_id"), command, Request(id=None)) == ("trial", "None")
