"""Frames of the flight recorder: changes only, and the same decisions when they are replayed."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.domain.builders import T0, agent, holding, pending

from determined_master.domain.schedule.frames import Frame, FrameHistory
from determined_master.domain.schedule.plan import Behind, Full, Plan, Preempt, Start
from determined_master.domain.schedule.view import PoolView, Rules

A, B = agent("a"), agent("b")
X, Y = pending("x"), pending("y")
R = holding("r", ("a", 2))
FULL, BEHIND = Full("x"), Behind("x", "y")


def view(*agents: Any, pending: tuple[Any, ...] = (), running: tuple[Any, ...] = ()) -> PoolView:
    return PoolView(
        pool="gpus",
        agents=agents,
        pending=pending,
        running=running,
        now=T0 + timedelta(seconds=5),
        rules=Rules(preemption=True),
    )


def test_a_key_frame_holds_the_whole_decision() -> None:
    history = FrameHistory()
    history.take(view(A, pending=(X,)), Plan(), is_key=True)
    plan = Plan((Start("x", (("a", (0,)),)),), (Preempt("r", "reason", "j"),), (Full("y"),))
    frame = history.take(view(A, B, pending=(X, Y), running=(R,)), plan, is_key=True)
    assert frame == Frame(
        pool="gpus",
        at=T0 + timedelta(seconds=5),
        rules=Rules(preemption=True),
        is_key=True,
        agents=(A, B),
        pending=(X, Y),
        running=(R,),
        waits=plan.waits,
        starts=plan.starts,
        preemptions=plan.preemptions,
    )


def test_the_next_frame_holds_what_is_new_and_the_names_of_what_is_gone() -> None:
    history = FrameHistory()
    history.take(view(A, B, pending=(X, Y), running=(R,)), Plan(waits=(FULL,)), is_key=True)
    smaller = replace(A, slots=3)
    frame = history.take(view(smaller, pending=(X,)), Plan(waits=(BEHIND,)), is_key=False)
    assert (frame.agents, frame.pending, frame.running) == ((smaller,), (), ())
    assert (frame.gone_agents, frame.gone_pending, frame.gone_running) == (("b",), ("y",), ("r",))
    assert frame.waits == (BEHIND,)
    assert not frame.is_key


def test_an_equal_wait_is_no_news() -> None:
    """Each plan builds its waits anew, so they are compared by content."""
    history = FrameHistory()
    history.take(view(A, pending=(X,)), Plan(waits=(FULL,)), is_key=True)
    again = Plan(waits=(Full("x"),))
    frame = history.take(view(A, pending=(X,)), again, is_key=False)
    assert frame.waits == ()
    assert not frame.has_news


@pytest.mark.parametrize(
    "news",
    [
        {"is_key": True},
        {"agents": (A,)},
        {"pending": (X,)},
        {"running": (R,)},
        {"waits": (FULL,)},
        {"gone_agents": ("a",)},
        {"gone_pending": ("x",)},
        {"gone_running": ("r",)},
        {"starts": (Start("x", ()),)},
        {"preemptions": (Preempt("r", "reason", "j"),)},
    ],
)
def test_any_change_is_news(news: dict[str, Any]) -> None:
    nothing = Frame(pool="gpus", at=T0, rules=Rules())
    assert nothing.has_news is False
    assert replace(nothing, **news).has_news is True


def test_replayed_frames_give_the_decisions_that_were_taken() -> None:
    start = Start("x", (("a", (0,)),))
    decisions = [
        (view(A, B, pending=(X, Y)), Plan(waits=(FULL, Full("y")))),
        (view(A, pending=(X, Y)), Plan((start,), (), (Behind("y", "x"),))),
        (view(A, pending=(Y,), running=(R,)), Plan(waits=(Behind("y", "x"),))),
        (view(A, running=(R,)), Plan((), (Preempt("r", "reason", "j"),))),
        (view(B, pending=(X,)), Plan(waits=(FULL,))),
    ]
    taken, film = FrameHistory(), FrameHistory()
    frames = [taken.take(*one, is_key=n == 0) for n, one in enumerate(decisions)]
    assert [film.play(frame) for frame in frames] == decisions


def test_a_key_frame_forgets_everything_before_it() -> None:
    film, taken = FrameHistory(), FrameHistory()
    film.play(
        FrameHistory().take(view(A, pending=(X,), running=(R,)), Plan(waits=(FULL,)), is_key=True)
    )
    taken.take(view(A, pending=(X,), running=(R,)), Plan(waits=(FULL,)), is_key=True)
    now = view(B, pending=(Y,)), Plan(waits=(Full("y"),))
    assert film.play(taken.take(*now, is_key=True)) == now


def test_a_removal_that_is_replayed_twice_changes_nothing() -> None:
    film, taken = FrameHistory(), FrameHistory()
    film.play(taken.take(view(A, B), Plan(), is_key=True))
    gone = taken.take(view(A), Plan(), is_key=False)
    assert film.play(gone) == film.play(gone) == (view(A), Plan())
