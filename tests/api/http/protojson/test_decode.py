"""Bodies of requests, as well-kept and as careless clients send them."""

from __future__ import annotations

import base64
import importlib
import itertools
import math
from datetime import UTC, datetime

import pytest

from determined_master.api.http.protojson import check_marks, decode, decode_field, scalars
from determined_master.api.http.protojson.decode import parse, read_message
from determined_master.api.http.protojson.marks import MAX_MARKS
from determined_master.domain.errors import InvalidArgument
from determined_wire.rest.experiments import CreateExperimentRequest, PatchExperimentRequest
from determined_wire.rest.master import PatchMasterConfigRequest, SetClusterMessageRequest
from determined_wire.rest.runs import PostRunMetadataRequest
from determined_wire.rest.trials import (
    ReportTrialMetricsRequest,
    ReportTrialProgressRequest,
    ReportTrialSearcherEarlyExitRequest,
    StartTrialRequest,
)
from determined_wire.rest.types.trial import TrialEarlyExitExitedReason
from determined_wire.rest.users import PostUserRequest, SetUserPasswordRequest

TO_THE_UID = "invalid syntax (field user.agentUserGroup.agentUid)"
MODE = "cannot unmarshal array into Go value of type int32 (field modelDefinition.mode)"
DEEP = b'{"metadata": ' + b'{"a":' * 100 + b"1" + b"}" * 101


def test_both_cases_of_names_are_accepted_and_may_be_mixed() -> None:
    body = (
        b'{"user": {"display_name": "D", "agentUserGroup": {"agent_uid": 5}}, "is_hashed": true}'
    )
    request = decode(PostUserRequest, body)
    assert request.user is not None
    assert request.user.display_name == "D"
    assert request.user.agent_user_group is not None
    assert request.user.agent_user_group.agent_uid == 5
    assert request.is_hashed is True


def test_keys_of_free_objects_are_never_renamed() -> None:
    metrics = b'{"metrics":{"trial_id":1,"metrics":{"avgMetrics":{"learning_rate":1,"aB":2}}}}'
    request = decode(ReportTrialMetricsRequest, metrics)
    assert request.metrics is not None
    assert request.metrics.trial_id == 1
    assert request.metrics.metrics is not None
    assert request.metrics.metrics.avg_metrics == {"learning_rate": 1, "aB": 2}


@pytest.mark.parametrize(
    "body",
    [
        b'{"trialId": 7, "unknown": {"deep": [1]}, "resume": true}',
        b'{"trialId": "7", "resume": true}',
        b'{"trialId": 1, "trialId": 7, "resume": true}',
        b'{"trialId": 7, "resume": true} trailing',
        b'  {"trialId": 7, "resume": true, "trial_id": null}',
    ],
)
def test_bodies_of_careless_clients_are_understood(body: bytes) -> None:
    assert decode(StartTrialRequest, body) == StartTrialRequest(trial_id=7, resume=True)


@pytest.mark.parametrize("body", [b"", b"null", b"  ", b"{}"])
def test_nothing_is_the_empty_message(body: bytes) -> None:
    assert decode(StartTrialRequest, body) == StartTrialRequest()


def test_enums_go_by_name_or_number() -> None:
    named = b'{"reason": "EXITED_REASON_INVALID_HP"}'
    wanted = TrialEarlyExitExitedReason.EXITED_REASON_INVALID_HP
    for body in (named, b'{"reason": %d}' % wanted.number):
        request = decode_field(ReportTrialSearcherEarlyExitRequest, "early_exit", body)
        assert request.early_exit is not None
        assert request.early_exit.reason is wanted


def test_a_body_that_is_one_field_is_that_field() -> None:
    request = decode_field(SetUserPasswordRequest, "password", b'"secret"')
    assert request.password == "secret"
    patch = decode_field(PatchExperimentRequest, "experiment", b'{"labels": ["a"], "notes": null}')
    assert patch.experiment is not None
    assert patch.experiment.notes is None
    wrapped = decode_field(PatchExperimentRequest, "experiment", b'{"experiment": {"name": "x"}}')
    assert wrapped.experiment is not None
    assert wrapped.experiment.name is None


def test_characters_that_cannot_be_stored_are_replaced() -> None:
    body = rb'{"user": {"username": "a\u0000b", "displayName": "\ud800x"}, "password": "\\u0000"}'
    request = decode(PostUserRequest, body)
    assert request.user is not None
    assert (request.user.username, request.user.display_name) == ("a\ufffdb", "\ufffdx")
    assert request.password == "\\u0000"


def test_unstorable_characters_do_not_put_a_body_on_the_slow_path(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def walk(body: bytes) -> None:
        raise AssertionError(f"{body!r} was parsed a second time")

    module = importlib.import_module(
        "determined_master.api.http.protojson.decode"
    )  # hidden by its name
    monkeypatch.setattr(module, "parse", walk)
    body = rb'{"user": {"username": "a\u0000\ud83d\n\ude00\ud83d\ude00"}, "password": "\udc00"}'
    request = decode(PostUserRequest, body)
    assert request.user is not None
    assert request.user.username == "a\ufffd\ufffd\n\ufffd\N{GRINNING FACE}"
    assert request.password == "\ufffd"


def test_escapes_in_any_order_are_read_as_the_walk_reads_them() -> None:
    parts = [rb"\u0000", rb"\ud83d", rb"\ude00", rb"\\", rb"\"", b"u0000", b"x", rb"\uD83D\uDE00"]
    for some in itertools.product(parts, repeat=4):
        body = b'{"password": "' + b"".join(some) + b'"}'
        assert decode(PostUserRequest, body) == read_message(PostUserRequest, parse(body)), body


@pytest.mark.parametrize(
    ("text", "number"),
    [("1e3", 1000.0), ("-.5", -0.5), ("7.", 7.0), ("Infinity", math.inf), ("-inf", -math.inf)],
)
def test_a_number_may_be_a_text(text: str, number: float) -> None:
    body = b'{"progress": "%s"}' % text.encode()
    assert decode_field(ReportTrialProgressRequest, "progress", b'"%s"' % text.encode()) == (
        decode(ReportTrialProgressRequest, body)
    )
    assert decode(ReportTrialProgressRequest, body).progress == number


def test_a_field_that_is_the_body_is_nested_as_little() -> None:
    with pytest.raises(InvalidArgument, match="nested too deeply"):
        decode_field(PostRunMetadataRequest, "metadata", b"[" * 101 + b"]" * 101)


def test_a_field_mask_is_an_object_or_a_text() -> None:
    for mask in (b'{"paths": ["log.level", "log.color"]}', b'"log.level,log.color"'):
        request = decode(PatchMasterConfigRequest, b'{"fieldMask": ' + mask + b"}")
        assert request.field_mask is not None
        assert list(request.field_mask.paths) == ["log.level", "log.color"]


def test_times_have_a_zone_and_bytes_are_base64() -> None:
    body = b'{"startTime": "2026-11-21T05:59:59.123456789+01:00", "x": 1}'
    request = decode(SetClusterMessageRequest, body)
    assert request.start_time is not None
    assert request.start_time.replace(microsecond=0) == datetime(
        2026, 11, 21, 4, 59, 59, tzinfo=UTC
    )
    files = decode(
        CreateExperimentRequest,
        b'{"modelDefinition": [{"content": "aGk=", "mtime": "5", "x": 0}]}',
    )
    assert files.model_definition[0].content == b"hi"
    assert files.model_definition[0].mtime == 5


def test_a_file_of_several_pieces_of_base64_is_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scalars, "BASE64_PIECE", 8)

    def content(text: str) -> bytes:
        body = b'{"modelDefinition": [{"content": "%s", "mtime": "5"}]}' % text.encode()
        return decode(CreateExperimentRequest, body).model_definition[0].content

    for length in range(30):
        given = bytes(range(length))
        assert content(base64.b64encode(given).decode()) == given
    for wrong in ("aGkhaGk=aGkh", "aGkhaGkhaG", "aGkhaGkh&&&&", "aGkhaGk=="):
        with pytest.raises(InvalidArgument, match="illegal base64 data at input byte"):
            content(wrong)


def test_a_body_of_too_many_values_is_refused_before_it_is_taken_apart() -> None:
    check_marks(b"," * MAX_MARKS)
    for mark in (b",", b"[]", b"{}", rb"\u0041"):
        with pytest.raises(InvalidArgument, match="send it in several requests"):
            check_marks(mark * (MAX_MARKS // 2) + b"[," * (MAX_MARKS // 4 + 1))


@pytest.mark.parametrize(
    ("cls", "body", "phrase"),
    [
        (PostUserRequest, b'{"user":', "unexpected EOF"),
        (PostUserRequest, b'{"user', "unexpected EOF"),
        (PostUserRequest, b"hello", "invalid character 'h' looking for beginning of value"),
        (PostUserRequest, b"[1]", "cannot unmarshal array into"),
        (PostUserRequest, b"5", "cannot unmarshal number into"),
        (PostUserRequest, b'{"user": {"username": 5}}', "number into Go value of type string"),
        (PostUserRequest, b'{"isHashed": "true"}', "string into Go value of type bool"),
        (PostUserRequest, b'{"isHashed": 1}', "number into Go value of type bool"),
        (StartTrialRequest, b'{"trialId": 1.0}', "number into Go value of type int32"),
        (StartTrialRequest, b'{"trialId": 1.5}', "number into Go value of type int32"),
        (StartTrialRequest, b'{"trialId": true}', "bool into Go value of type int32"),
        (StartTrialRequest, b'{"trialId": "x"}', "invalid syntax"),
        (StartTrialRequest, b'{"trialId": 3000000000}', "out of range"),
        (SetClusterMessageRequest, b'{"startTime": "yesterday"}', "bad Timestamp: "),
        (SetClusterMessageRequest, b'{"startTime": "2026-01-01T00:00:00"}', "bad Timestamp: "),
        (PostRunMetadataRequest, b'{"metadata": [1]}', "bad StructValue: "),
        (PostRunMetadataRequest, b'{"metadata": {"a": 1e999}}', "out of range"),
        (PostRunMetadataRequest, b'{"metadata": {"a": NaN}}', "NaN"),
        (PostRunMetadataRequest, b'{"metadata": {"a": "\xff"}}', "UTF-8"),
        (PostRunMetadataRequest, b"[" * 200_000, "nested too deeply"),
        (PostRunMetadataRequest, DEEP, "nested too deeply: more than 100 lists"),
        (ReportTrialProgressRequest, b'{"progress": 1%s}' % (b"0" * 309), "value out of range"),
        (ReportTrialProgressRequest, b'{"progress": "1e309"}', '"1e309": value out of range'),
        (ReportTrialProgressRequest, b'{"progress": "1_0"}', '"1_0": invalid syntax'),
        (
            CreateExperimentRequest,
            b'{"modelDefinition": [{"content": "&&&"}]}',
            "illegal base64 data at input byte 0",
        ),
    ],
)
def test_an_unreadable_body_gets_the_error_that_clients_know(
    cls: type[PostUserRequest], body: bytes, phrase: str
) -> None:
    with pytest.raises(InvalidArgument) as raised:
        decode(cls, body)
    assert phrase in raised.value.text


@pytest.mark.parametrize(
    ("cls", "body", "told"),
    [
        (StartTrialRequest, b'{"trial_id": true}', "(field trial_id)"),
        (PostUserRequest, b'{"user": {"agentUserGroup": {"agentUid": "x"}}}', TO_THE_UID),
        (CreateExperimentRequest, b'{"modelDefinition": [{}, {"mode": []}]}', MODE),
    ],
)
def test_the_field_that_cannot_be_read_is_named(
    cls: type[PostUserRequest], body: bytes, told: str
) -> None:
    with pytest.raises(InvalidArgument) as raised:
        decode(cls, body)
    assert raised.value.text.endswith(told)


def test_an_unknown_enum_is_named_with_its_type() -> None:
    with pytest.raises(InvalidArgument) as raised:
        decode_field(ReportTrialSearcherEarlyExitRequest, "early_exit", b'{"reason": "X"}')
    assert raised.value.text.startswith('unknown value "\\"X\\"" for enum determined.trial.v1.')
