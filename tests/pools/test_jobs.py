"""The jobs of a pool, kept while their requests and tasks come and go."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.domain.builders import holding, pending

from determined_master.domain.schedule.jobs import job_view
from determined_master.domain.schedule.view import RequestView, RunningView
from determined_master.pools.jobs import Jobs

IDS = st.sampled_from("abcdef")
JOBS = st.sampled_from("JKL")
SLOTS = st.sampled_from([0, 1, 2, 4])


@st.composite
def requests(draw) -> RequestView:
    return pending(
        draw(IDS),
        draw(SLOTS),
        job_id=draw(JOBS),
        after_s=draw(st.integers(0, 3)),
        max_slots=draw(st.sampled_from([None, 3])),
    )


@st.composite
def tasks(draw) -> RunningView:
    return holding(
        draw(IDS),
        ("agent", draw(SLOTS)),
        job_id=draw(JOBS),
        is_leaving=draw(st.booleans()),
        is_preemptible=draw(st.booleans()),
    )


@given(st.lists(st.lists(requests() | tasks() | IDS, max_size=5), max_size=5), st.data())
def test_a_job_is_the_sum_of_its_parts_after_any_changes(rounds, data) -> None:
    jobs, known = Jobs(), dict[str, RequestView | RunningView]()
    for changes in rounds:
        for change in changes:
            if isinstance(change, str):
                jobs.drop(change)
                known.pop(change, None)
                continue
            if isinstance(change, RequestView):
                jobs.put(change)
            else:
                jobs.run(change)
            known[change.allocation_id] = change
        expected = data.draw(st.lists(tasks(), max_size=1))
        members = [r for r in [*known.values(), *expected] if r.slots > 0]
        wanted = {
            id: job_view(
                id,
                [r for r in members if r.job_id == id and isinstance(r, RequestView)],
                [r for r in members if r.job_id == id and isinstance(r, RunningView)],
            )
            for id in {r.job_id for r in members}
        }
        found = {job.job_id: job for job in jobs.views(expected)}
        assert found.keys() == wanted.keys()
        for id, job in found.items():
            assert by_id(job.running) == by_id(wanted[id].running)
            assert without_running(job) == without_running(wanted[id])


def by_id(running):
    return sorted(running, key=lambda r: (r.allocation_id, repr(r)))


def without_running(job):
    return {name: getattr(job, name) for name in job.__struct_fields__ if name != "running"}


def test_a_job_that_has_not_changed_is_the_same_object() -> None:
    jobs = Jobs()
    jobs.put(pending("a", 1, job_id="J"))
    jobs.run(holding("b", ("agent", 2), job_id="K"))
    before = {job.job_id: job for job in jobs.views()}
    jobs.put(pending("c", 1, job_id="J"))
    after = {job.job_id: job for job in jobs.views()}
    assert after["K"] is before["K"]
    assert after["J"].ids == ("a", "c")


def test_nothing_is_kept_of_an_ended_job() -> None:
    jobs = Jobs()
    jobs.put(pending("a", 1, job_id="J"))
    jobs.drop("a")
    assert jobs.views() == ()
    assert jobs._jobs == {}
    assert jobs._job_of == {}
