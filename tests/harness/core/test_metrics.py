"""The spool of metrics."""

from __future__ import annotations

import logging
import statistics
import threading
import time
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from tests.harness.master_double import Call, MasterDouble, until

from determined.common.api import RetryPolicy, UnauthSession, _session, errors
from determined.common.api._retry import TASK
from determined.core import _metrics
from determined.core._metrics import _MetricsContext, plain_metrics


@pytest.fixture
def metrics(master: MasterDouble) -> Iterator[_MetricsContext]:
    session = UnauthSession(master.url, max_retries=RetryPolicy(total=0))
    context = _MetricsContext(session, 3, 1)
    context.start()
    yield context
    context.close()
    session.close()


def test_a_full_spool_holds_the_caller_and_says_so(
    master: MasterDouble,
    metrics: _MetricsContext,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(_metrics, "MAX_REPORTS", 2)
    monkeypatch.setattr(_metrics, "WARN_FULL_EVERY_S", 0.0)
    release = threading.Event()

    def hold(_: Any) -> tuple[int, Any]:
        release.wait(20)
        return 200, {}

    master.on("POST", "/metrics$", hold)
    metrics.report("training", 1, {"a": 1})
    until(lambda: master.reports(), "the first report is under way")
    metrics.report("training", 2, {"a": 1})
    metrics.report("training", 3, {"a": 1})
    with caplog.at_level(logging.WARNING):
        waiting = threading.Thread(target=metrics.report, args=("training", 4, {"a": 1}))
        waiting.start()
        until(lambda: "the spool of metrics is full" in caplog.text, "the caller is told")
        assert waiting.is_alive()
        release.set()
        waiting.join(timeout=60)
    metrics.flush()
    assert [r["metrics"]["stepsCompleted"] for r in master.reports()] == [1, 2, 3, 4]


def test_one_refused_report_of_a_batch_is_named_and_the_others_stay(
    master: MasterDouble, metrics: _MetricsContext
) -> None:
    hold = threading.Event()
    master.on("POST", "/metrics$", lambda _: (200, {}) if hold.wait(60) else (500, {}))
    answers = {"results": [{"error": ""}, {"error": "has other values"}]}
    master.on("POST", "/metrics/batch$", (200, answers))
    metrics.report("training", 1, {"a": 1})
    until(lambda: master.reports(), "the first report is under way")
    metrics.report("training", 2, {"a": 1})
    metrics.report("mine", 3, {"a": 1})
    hold.set()
    with pytest.raises(errors.BadRequestException, match="the mine metrics at step 3: has other"):
        metrics.flush()
    metrics.flush()  # told once


@pytest.mark.parametrize("status", [400, 413])
def test_a_batch_that_the_master_cannot_read_is_sent_one_by_one(
    master: MasterDouble,
    metrics: _MetricsContext,
    caplog: pytest.LogCaptureFixture,
    status: int,
) -> None:
    hold = threading.Event()
    stored: list[int] = []

    def store(call: Call) -> tuple[int, Any]:
        hold.wait(60)
        steps = call.body["metrics"]["stepsCompleted"]
        if steps in (3, 5):
            return status, {"error": {"code": 3, "error": f"steps {steps} are unusable"}}
        stored.append(steps)
        return 200, {}

    master.on("POST", "/metrics$", store)
    master.on("POST", "/metrics/batch$", (status, {"error": {"code": 3, "error": "unusable"}}))
    metrics.report("training", 1, {"a": 1})
    until(lambda: master.reports(), "the first report is under way")
    for group, steps in (("training", 2), ("validation", 3), ("validation", 4), ("mine", 5)):
        metrics.report(group, steps, {"a": 1})
    hold.set()
    with pytest.raises(
        errors.BadRequestException, match="the validation metrics at step 3: steps 3 are unusable"
    ):
        metrics.flush()
    assert "the mine metrics at step 5: steps 5 are unusable" in caplog.text
    metrics.report("training", 6, {"a": 1})
    metrics.flush()
    assert stored == [1, 2, 4, 6]


def test_metrics_may_have_these_types() -> None:
    values: dict[Any, Any] = {
        "number": numpy.float32(0.5),
        "array": numpy.array([1, 2]),
        "not": float("nan"),
        "much": -float("inf"),
        "deep": {"a": [numpy.int64(1), None, True]},
        "text": "x",
        "bytes": b"x",
        3: {1: "of class one"},
    }
    assert plain_metrics(values) == {
        "number": 0.5,
        "array": [1, 2],
        "not": "NaN",
        "much": "-Infinity",
        "deep": {"a": [1, None, True]},
        "text": "x",
        "bytes": "x",
        "3": {"1": "of class one"},
    }
    with pytest.raises(TypeError, match=r"the name of a metric must be text, got \(1, 2\)"):
        plain_metrics({(1, 2): 3})  # type: ignore[dict-item]


@pytest.mark.parametrize("value", [object(), b"\xff", {1, 2}, lambda: 0])
def test_a_metric_of_another_type_is_named(value: Any) -> None:
    with pytest.raises(TypeError, match=r"metric 'm' is of type .*, which cannot be reported"):
        plain_metrics({"m": value})


@pytest.mark.parametrize("group", ["", "a.b"])
def test_a_group_is_a_name_without_a_dot(metrics: _MetricsContext, group: str) -> None:
    with pytest.raises(ValueError, match="must be a name without a dot"):
        metrics.report(group, 1, {})


def test_a_context_that_was_not_entered_sends_reports(master: MasterDouble) -> None:
    session = UnauthSession(master.url, max_retries=RetryPolicy(total=0))
    context = _MetricsContext(session, 3, 1)
    context.report("training", 1, {"a": 1})
    context.flush()
    context.close()
    session.close()
    assert [r["metrics"]["stepsCompleted"] for r in master.reports()] == [1]


def test_reports_after_close_are_dropped_with_one_warning(
    master: MasterDouble, metrics: _MetricsContext, caplog: pytest.LogCaptureFixture
) -> None:
    metrics.report("training", 1, {"a": 1})
    metrics.close()
    with caplog.at_level(logging.WARNING):
        for step in (2, 3):
            metrics.report("training", step, {"a": 1})
    assert caplog.text.count("were reported after the context was closed and are dropped") == 1
    assert "training metrics at step 2" in caplog.text
    assert [r["metrics"]["stepsCompleted"] for r in master.reports()] == [1]


class Away:
    """A master that is away for so long, on a clock that runs only while the sender waits."""

    def __init__(self, session: UnauthSession, away_s: float, at_work: threading.Event) -> None:
        self.now_s = 0.0
        self.tries = 0
        self._away_s = away_s
        self._at_work = at_work
        self._send = session._transport.send

    def monotonic(self) -> float:
        return self.now_s

    def is_set(self) -> bool:
        return False

    def set(self) -> None:
        """The session is closed once all is sent."""

    def wait(self, delay_s: float) -> bool:
        if self.now_s + delay_s >= self._away_s:
            assert self._at_work.wait(60), "the reports come in while it is away"
        self.now_s += delay_s
        return False

    def send(self, *request: Any) -> Any:
        self.tries += 1
        if self.now_s < self._away_s:
            raise ConnectionRefusedError(111, "Connection refused")
        return self._send(*request)


@pytest.mark.slow
def test_a_master_that_is_away_for_15_minutes_gets_every_report_in_order(
    master: MasterDouble, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = UnauthSession(master.url, max_retries=TASK)
    made = threading.Event()
    away = Away(session, 900.0, made)
    monkeypatch.setattr(_session, "time", away)
    monkeypatch.setattr(session, "_closed", away)
    monkeypatch.setattr(session._transport, "send", away.send)
    context = _MetricsContext(session, 3, 1)
    context.start()
    count = 9000  # ten a second, all that time
    for steps in range(count):
        context.report("training", steps, {"loss": 0.5})
    assert count < _metrics.MAX_REPORTS
    made.set()
    context.close()
    session.close()
    assert [r["metrics"]["stepsCompleted"] for r in master.reports()] == list(range(count))
    assert 900 <= away.now_s < 910
    assert away.tries < 250


@pytest.mark.slow
def test_a_call_takes_no_more_than_50_microseconds_of_its_thread(
    metrics: _MetricsContext,
) -> None:
    """Its own work, whatever else the machine does; the middle one of many."""
    values = {"loss": 0.123, "accuracy": 0.9, "lr": 1e-4, "norm": 12.5, "epoch": 3}
    took = []
    for steps in range(2001):
        began = time.thread_time()
        metrics.report("training", steps, values)
        took.append(time.thread_time() - began)
    assert statistics.median(took) <= 50e-6
