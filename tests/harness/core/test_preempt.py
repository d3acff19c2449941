"""Preemption checks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from tests.harness.master_double import MasterDouble, until

from determined import core
from determined.common.api import RetryPolicy, UnauthSession


@pytest.fixture
def preempt(master: MasterDouble) -> Iterator[core.PreemptContext]:
    session = UnauthSession(master.url, max_retries=RetryPolicy(total=0))
    context = core.PreemptContext(session, "1.abc.1", core.DummyDistributedContext())
    yield context
    context.close()
    session.close()


def test_the_first_call_waits_for_the_masters_first_answer(
    master: MasterDouble, preempt: core.PreemptContext
) -> None:
    """A trial that is to leave at once hears it before its first step."""
    release = threading.Event()
    master.on("GET", "/signals/preemption$", lambda _: (200, {"preempt": release.wait(60)}))
    answers: list[bool] = []
    asking = threading.Thread(target=lambda: answers.append(preempt.should_preempt()))
    with preempt:
        asking.start()
        until(lambda: master.named("GET", "/preemption"), "the question")
        assert answers == []
        release.set()
        asking.join(timeout=60)
    assert answers == [True]


def test_a_failing_master_does_not_block_should_preempt(
    master: MasterDouble, preempt: core.PreemptContext
) -> None:
    master.on("GET", "/signals/preemption$", (500, {"error": {"code": 13, "error": "no"}}))
    with preempt:
        assert preempt.should_preempt() is False


@pytest.mark.parametrize("said", [True, False])
def test_the_last_result_is_kept_after_close(
    master: MasterDouble, preempt: core.PreemptContext, said: bool
) -> None:
    master.on("GET", "/signals/preemption$", (200, {"preempt": said}))
    with preempt:
        assert preempt.should_preempt() is said
    assert preempt.should_preempt() is said


def test_should_preempt_needs_a_started_context(preempt: core.PreemptContext) -> None:
    with pytest.raises(RuntimeError, match="not started"):
        preempt.should_preempt()


@pytest.mark.parametrize("kind", [core.PreemptContext, core.DummyPreemptContext])
def test_a_mode_may_be_given_as_text_and_an_unknown_one_is_named(kind: Any) -> None:
    lead = (None, "1.abc.1") if kind is core.PreemptContext else ()
    alone = core.DummyDistributedContext()
    assert kind(*lead, alone, "CHIEF_ONLY")._preempt_mode is core.PreemptMode.ChiefOnly
    with pytest.raises(ValueError, match=r"preempt_mode must be one of .*ChiefOnly.*got 'all'"):
        kind(*lead, alone, "all")
