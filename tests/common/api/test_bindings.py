"""`determined.common.api.bindings`: the names of 0.38.1, their fields, and their requests."""

from __future__ import annotations

import inspect
import json
import pickle
import subprocess
import sys
from typing import Any

import pytest

from determined.common.api import bindings


class Answer:
    """A canned answer of the master."""

    def __init__(self, body: Any, status: int = 200) -> None:
        self.body = body
        self.status_code = status
        self.reason = "Bad Gateway"

    def json(self) -> Any:
        return self.body

    def iter_lines(self) -> list[bytes]:
        return [json.dumps(item).encode() for item in self.body]


class Session:
    """Keeps the last request and gives one answer."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.sent: tuple[str, str] = ("", "")
        self.more: dict[str, Any] = {}

    def _do_request(self, method: str, path: str, **more: Any) -> Answer:
        self.sent, self.more = (method, path), more
        return self.answer


def test_a_script_of_0_38_1_reads_the_state_of_an_experiment() -> None:
    session = Session(Answer({"experiment": {"id": 1, "state": "STATE_COMPLETED"}}))
    experiment = bindings.get_GetExperiment(session, experimentId=1).experiment
    assert experiment.state == bindings.experimentv1State.COMPLETED
    assert session.sent == ("GET", "/api/v1/experiments/1")
    assert str(experiment.state) == "COMPLETED"
    assert (experiment.id, experiment.bestTrialId, experiment.name) == (1, None, None)


def test_parameters_are_repeated_dotted_and_without_those_that_are_none() -> None:
    session = Session(Answer({"experiments": [], "pagination": {}}))
    bindings.get_GetExperiments(
        session,
        archived=False,
        experimentIdFilter_incl=[1, 2],
        states=[bindings.experimentv1State.ERROR],
        sortBy=bindings.v1GetExperimentsRequestSortBy.ID,
    )
    assert session.more["params"] == [
        ("archived", "false"),
        ("experimentIdFilter.incl", "1"),
        ("experimentIdFilter.incl", "2"),
        ("sortBy", "SORT_BY_ID"),
        ("states", "STATE_ERROR"),
    ]


def test_a_body_leaves_out_what_is_not_set_and_a_path_is_quoted() -> None:
    session = Session(Answer({"webhook": {}}))
    trigger = bindings.v1Trigger(triggerType=bindings.v1TriggerType.TASK_LOG, condition={"a": 1})
    body = bindings.v1Webhook(
        url="u",
        triggers=[trigger],
        webhookType=bindings.v1WebhookType.DEFAULT,
        name="",
        mode=bindings.v1WebhookMode.WORKSPACE,
    )
    bindings.post_PostWebhook(session, body=body)
    sent = {"triggerType": "TRIGGER_TYPE_TASK_LOG", "condition": {"a": 1}}
    assert session.more["json"] == {
        "url": "u",
        "triggers": [sent],
        "webhookType": "WEBHOOK_TYPE_DEFAULT",
        "name": "",
        "mode": "WEBHOOK_MODE_WORKSPACE",
    }
    session.answer = Answer({"model": {}})
    bindings.get_GetModel(session, modelName="a/b c")
    assert session.sent == ("GET", "/api/v1/models/a%2Fb%20c")


@pytest.mark.parametrize(
    ("value", "text"),
    [(float("nan"), "NaN"), (float("inf"), "Infinity"), (-float("inf"), "-Infinity"), (1.5, 1.5)],
)
def test_numbers_that_json_does_not_have_are_text(value: float, text: object) -> None:
    message = bindings.v1DoubleFieldFilter(gt=value)
    assert message.to_json(True) == {"gt": text}
    assert message.to_json() == {"gt": text, "gte": None, "lt": None, "lte": None}
    again = bindings.v1DoubleFieldFilter.from_json({"gt": text}).gt
    assert again == value or value != value


def test_a_stream_yields_messages_and_raises_the_error_inside_it() -> None:
    lines = [{"result": {"batches": [1]}}, {"error": {"message": "it broke", "grpcCode": 2}}]
    session = Session(Answer(lines))
    batches = bindings.get_MetricBatches(session, experimentId=1, metricName="loss")
    assert next(batches).batches == [1]
    with pytest.raises(bindings.APIHttpStreamError, match=r"get_MetricBatches.*it broke"):
        next(batches)
    assert session.more["stream"]


def test_a_session_that_raises_nothing_gets_the_error_of_the_bindings() -> None:
    with pytest.raises(bindings.APIHttpError, match=r"get_GetMe.*Bad Gateway"):
        bindings.get_GetMe(Session(Answer({}, status=502)))


@pytest.mark.parametrize(
    ("arguments", "text"), [({}, "experimentId"), ({"experimentId": 1, "x": 2}, "x")]
)
def test_a_call_refuses_other_arguments(arguments: dict[str, int], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        bindings.get_GetExperiment(Session(Answer({})), **arguments)


@pytest.mark.parametrize(("fields", "text"), [({}, "needs field"), ({"x": 1}, "has no field x")])
def test_a_message_refuses_other_fields(fields: dict[str, int], text: str) -> None:
    with pytest.raises(TypeError, match=text):
        bindings.v1GetExperimentResponse(**fields)


def test_a_member_that_only_a_newer_master_has_stays_text() -> None:
    read = bindings.v1GetExperimentResponse.from_json({"experiment": {"state": "STATE_NEW"}})
    assert read.experiment.state == "STATE_NEW"


def test_messages_and_members_are_pickled_by_their_names() -> None:
    message = bindings.v1DoubleFieldFilter(lt=1.0)
    again = pickle.loads(pickle.dumps((message, bindings.checkpointv1SortBy.END_TIME)))
    assert again[0].lt == 1.0
    assert again[1] is bindings.checkpointv1SortBy.END_TIME


def test_every_name_is_made_and_has_a_signature() -> None:
    made = {name: getattr(bindings, name) for name in dir(bindings)}
    calls = [it for name, it in made.items() if name.startswith(("get_", "post_", "put_"))]
    assert len(calls) > 200
    for call in calls:
        assert next(iter(inspect.signature(call).parameters)) == "session"
    assert bindings.v1GetExperimentsResponse in bindings.Paginated.__args__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="v1Nothing"):
        _ = bindings.v1Nothing


def test_the_table_of_names_is_not_loaded_before_a_name_is_used() -> None:
    program = (
        "import sys, determined, determined.cli.main\n"
        "from determined.common.api import bindings\n"
        "assert 'determined.common.api.rest.published' not in sys.modules\n"
        "bindings.v1OrderBy.ASC\n"
        "assert 'determined.common.api.rest.published' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
