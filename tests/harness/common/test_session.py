"""Sessions: retries, errors, kept-alive connections."""

from __future__ import annotations

import threading

import numpy
import pytest
from tests.harness.master_double import MasterDouble, until

from determined.common.api import RetryPolicy, Session, UnauthSession, _session, errors
from determined.common.api._address import canonicalize_master_url
from determined.common.api._retry import TASK
from determined.common.api._session import encode_json

FAST = RetryPolicy(total=5, backoff_s=0.01, all_methods=True)


def test_calls_share_one_connection(master: MasterDouble) -> None:
    master.on("GET", "/me$", (200, {"user": 1}))
    with Session(master.url, "me", "secret") as session:
        for _ in range(5):
            assert session.get("/api/v1/me").json() == {"user": 1}
    assert master.connections == 1
    assert master.calls[0].headers["Authorization"] == "Bearer secret"


def test_parameters_take_lists_and_booleans_and_leave_none_out(master: MasterDouble) -> None:
    master.on("GET", "/x$", (200, {}))
    with UnauthSession(master.url) as session:
        session.get("/x", params={"a": [1, 2], "b": True, "c": None, "d": "ü/&"})
        session.get("/x", params=[("e", "1"), ("e", "2")])
    assert master.calls[0].query == {"a": ["1", "2"], "b": ["true"], "d": ["ü/&"]}
    assert master.calls[1].query == {"e": ["1", "2"]}


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, errors.APIException),
        (401, errors.UnauthenticatedException),
        (403, errors.ForbiddenException),
        (404, errors.NotFoundException),
        (409, errors.APIException),
        (500, errors.APIException),
    ],
)
def test_a_status_becomes_its_error(
    master: MasterDouble, status: int, kind: type[Exception]
) -> None:
    master.on("GET", "/x$", (status, {"error": {"code": 1, "reason": "R", "error": "the text"}}))
    with (
        UnauthSession(master.url) as session,
        pytest.raises(kind, match="the text" if status != 401 else "log in") as caught,
    ):
        session.get("/x")
    assert getattr(caught.value, "status_code", status) == status


def test_a_bad_gateway_is_asked_again(master: MasterDouble) -> None:
    answers = iter([(502, {}), (503, {}), (200, {"done": True})])
    master.on("POST", "/x$", lambda _: next(answers))
    with UnauthSession(master.url, max_retries=FAST) as session:
        assert session.post("/x", json={}).json() == {"done": True}


def test_a_task_asks_again_when_a_gateway_has_no_route_to_the_master(
    master: MasterDouble,
) -> None:
    """Some ingress controllers answer 404 for a Service whose only pod restarts."""
    answers = iter([(404, b"404 page not found"), (404, b""), (200, {"done": True})])
    master.on("POST", "/x$", lambda _: next(answers))
    policy = FAST._replace(outlasts_gateways=TASK.outlasts_gateways)
    with UnauthSession(master.url, max_retries=policy) as session:
        assert session.post("/x", json={}).json() == {"done": True}
        master.on("POST", "/x$", (404, {"error": {"error": "trial 7 not found"}}))
        asked = len(master.calls)
        with pytest.raises(errors.NotFoundException, match="trial 7"):
            session.post("/x", json={})
        assert len(master.calls) == asked + 1


def test_an_internal_error_is_asked_again_only_for_a_while(master: MasterDouble) -> None:
    answers = iter([(500, {}), (500, {}), (200, {"done": True})])
    master.on("POST", "/x$", lambda _: next(answers))
    with UnauthSession(master.url, max_retries=FAST._replace(internal_for_s=20)) as session:
        assert session.post("/x", json={}).json() == {"done": True}
    master.on("POST", "/x$", (500, {"error": {"error": "broken"}}))
    with (
        UnauthSession(master.url, max_retries=FAST._replace(internal_for_s=0.05)) as session,
        pytest.raises(errors.APIException, match="broken"),
    ):
        session.post("/x", json={})
    with UnauthSession(master.url, max_retries=FAST) as session:
        asked = len(master.calls)
        with pytest.raises(errors.APIException, match="broken"):
            session.post("/x", json={})
    assert len(master.calls) == asked + 1


class Clock:
    """Stands still but for what a test adds."""

    now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s


def test_an_internal_error_that_comes_late_is_asked_again_as_long_as_any(
    master: MasterDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A master that stood still for minutes may answer so when it continues."""
    clock = Clock()
    monkeypatch.setattr(_session, "time", clock)
    answers = iter([(502, {}), (500, {}), (500, {}), (200, {"done": True})])

    def late(_: object) -> tuple[int, object]:
        clock.now_s += 50
        return next(answers)

    master.on("POST", "/x$", late)
    with UnauthSession(master.url, max_retries=FAST._replace(internal_for_s=60)) as session:
        assert session.post("/x", json={}).json() == {"done": True}


def test_a_master_without_database_is_retried_for_a_time(
    master: MasterDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(_session, "time", clock)
    away = (503, {"error": {"error": "the database does not answer"}})
    answers = iter([away, away, away, (200, {"done": True})])
    policy = FAST._replace(total=1, all_methods=False, away_for_s=5.0)

    def late(_: object) -> tuple[int, object]:
        clock.now_s += 1
        return next(answers, away)

    master.on("GET", "/x$", late)
    master.on("POST", "/x$", away)
    with UnauthSession(master.url, max_retries=policy) as session:
        assert session.get("/x").json() == {"done": True}
        asked = len(master.calls)
        with pytest.raises(errors.APIException, match="the database does not answer"):
            session.get("/x")
        assert len(master.calls) == asked + 6  # the last one five seconds after the first
        with pytest.raises(errors.APIException, match="the database does not answer"):
            session.post("/x", json={})
        assert len(master.calls) == asked + 7


def test_a_post_is_not_repeated_unless_it_may_be(master: MasterDouble) -> None:
    master.on("POST", "/x$", (502, {"error": {"error": "bad gateway"}}))
    with UnauthSession(master.url) as session, pytest.raises(errors.APIException):
        session.post("/x", json={})
    assert len(master.calls) == 1


def test_no_master_is_named_with_the_remedy(unused_port: int) -> None:
    url = f"http://127.0.0.1:{unused_port}"
    with (
        UnauthSession(url, max_retries=0) as session,
        pytest.raises(errors.MasterNotFoundException, match=f"{url}.*DET_MASTER"),
    ):
        session.get("/x")


def test_a_master_that_starts_during_the_retries_is_reached(unused_port: int) -> None:
    found: list[int] = []

    def ask() -> None:
        policy = FAST._replace(total=500)
        with UnauthSession(f"http://127.0.0.1:{unused_port}", max_retries=policy) as session:
            found.append(session.post("/x", json={}).status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    late = MasterDouble(unused_port)
    late.on("POST", "/x$", (200, {}))
    with late:
        asking.join(timeout=60)
    assert found == [200]


def test_a_connection_that_the_master_closed_is_replaced(unused_port: int) -> None:
    with UnauthSession(f"http://127.0.0.1:{unused_port}", max_retries=0) as session:
        for _ in range(2):
            with MasterDouble(unused_port) as one:
                one.on("POST", "/x$", (200, {}))
                assert session.post("/x", json={}).ok


def test_closing_ends_a_call_that_waits(master: MasterDouble) -> None:
    release = threading.Event()

    def wait(_: object) -> tuple[int, object]:
        release.wait(20)
        return 200, {}

    master.on("GET", "/slow$", wait)
    session = UnauthSession(master.url, max_retries=0)
    outcome: list[Exception] = []

    def ask() -> None:
        try:
            session.get("/slow", timeout=600)
        except errors.MasterNotFoundException as error:
            outcome.append(error)

    asking = threading.Thread(target=ask)
    asking.start()
    until(lambda: master.calls, "the call arrived")
    session.close()
    asking.join(timeout=60)
    release.set()
    assert len(outcome) == 1


def test_numbers_that_json_lacks_are_sent_as_text() -> None:
    values = {"a": float("nan"), "b": [float("inf"), -float("inf"), 1.5]}
    assert encode_json(values) == b'{"a":"NaN","b":["Infinity","-Infinity",1.5]}'
    assert encode_json({"lr": numpy.float32(0.5), "n": numpy.int64(3)}) == b'{"lr":0.5,"n":3}'


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("localhost", "http://localhost:8080"),
        ("host:9000", "http://host:9000"),
        ("http://host", "http://host:80"),
        ("https://host/base/", "https://host:443/base"),
        (" host:8080\n", "http://host:8080"),
        ("http://[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_address_has_one_form(text: str, url: str) -> None:
    assert canonicalize_master_url(text) == url
    assert canonicalize_master_url(url) == url


@pytest.mark.parametrize("text", ["ftp://host", "http://", "host:port", " "])
def test_an_invalid_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"address|[Pp]ort"):
        canonicalize_master_url(text)
