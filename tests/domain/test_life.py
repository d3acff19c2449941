"""Any order of events leads every trial to exactly one end and gives every slot back."""

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from tests.domain.world import AGENTS, EXPERIMENT, World

from determined_master.domain.allocation import messages as alloc
from determined_master.domain.experiment import messages as exp
from determined_master.domain.states import LEAVING, TERMINAL
from determined_master.domain.trial import messages as trial

picks = st.integers(0, 11)
STEERING = [
    exp.ExperimentPaused(),
    exp.ExperimentActivated(),
    exp.ExperimentCanceled(),
    exp.ExperimentKilled(),
]
TOLD_TO_TRIALS = [
    trial.TrialKilled(),
    trial.EarlyExitReported(reason="INVALID_HP"),
    trial.RetriesCanceled(pattern="p", line="l"),
]
TOLD_TO_ALLOCATIONS = [
    alloc.BecameReady(),
    alloc.BeganWaiting(),
    alloc.PreemptAcknowledged(),
    alloc.PreemptRequested(reason="preempted by the scheduler"),
]


class Life(RuleBasedStateMachine):
    """Rules move one part of the world at a time."""

    @initialize(slots=st.sampled_from([1, 1, 2, 4]), max_restarts=st.integers(0, 2))
    def begin(self, slots, max_restarts) -> None:
        self.world = World(slots, max_restarts)

    @rule(pick=picks, times=st.sampled_from([1, 1, 2]), place=st.sampled_from([0, 0, 1, 2]))
    def deliver(self, pick, times, place) -> None:
        if busy := self.world.busy():
            self.world.deliver(busy[pick % len(busy)], times, place)

    @rule()
    def deliver_everything(self) -> None:
        while busy := self.world.busy():
            self.world.deliver(busy[0])

    @rule(pick=picks)
    def give_up(self, pick) -> None:
        if pick < 2 and (busy := self.world.busy()):
            self.world.give_up(busy[pick % len(busy)])

    @rule(pick=picks)
    def fire(self, pick) -> None:
        if timers := sorted(self.world.timers):
            self.world.fire(*timers[pick % len(timers)])

    @rule()
    def plan(self) -> None:
        self.world.plan()

    @rule(pick=picks)
    def advance(self, pick) -> None:
        if alive := self.world.alive():
            self.world.advance(alive[pick % len(alive)])

    @rule()
    def run_up_everything(self) -> None:
        for _ in range(3):
            for container in self.world.alive():
                self.world.advance(container)
        self.hear_everything()
        for key in self.world.allocations():
            self.world.post(key, alloc.BecameReady())

    @rule()
    def start_what_waits(self) -> None:
        self.deliver_everything()
        self.world.plan()
        self.deliver_everything()
        self.run_up_everything()

    @rule(pick=picks, code=st.sampled_from([0, 1, 137]))
    def leave(self, pick, code) -> None:
        if alive := self.world.alive():
            container = alive[pick % len(alive)]
            _, agent_id, allocation = self.world.processes[container]
            self.world.end_process(container, code, agent_id, allocation)

    @rule(agent_id=st.sampled_from(sorted(AGENTS)))
    def hear(self, agent_id) -> None:
        if self.world.reports.get(agent_id):
            self.world.hear(agent_id)

    @rule()
    def hear_everything(self) -> None:
        for agent_id in AGENTS:
            while self.world.reports.get(agent_id):
                self.world.hear(agent_id)

    @rule(pick=picks)
    def repeat_a_report(self, pick) -> None:
        if self.world.said:
            allocation, event = self.world.said[pick % len(self.world.said)]
            self.world.post(("allocation", allocation), event)

    @rule(agent_id=st.sampled_from(sorted(AGENTS)), pick=picks)
    def lose_an_agent(self, agent_id, pick) -> None:
        if pick < 4:
            self.world.lose(agent_id)

    @rule(event=st.sampled_from(STEERING), pick=picks)
    def steer(self, event, pick) -> None:
        if pick < 4 or event in STEERING[:2]:
            self.world.post(EXPERIMENT, event)

    @rule()
    def continue_it(self) -> None:
        if self.world.states[EXPERIMENT].state in TERMINAL:
            self.world.continue_it()

    @rule(pick=picks)
    def delete_it(self, pick) -> None:
        if pick == 0:
            self.world.post(EXPERIMENT, exp.DeletionRequested())

    @rule()
    def pause_and_think_better_of_it(self) -> None:
        self.deliver_everything()
        for event in STEERING[:2]:
            self.world.post(EXPERIMENT, event)
            self.deliver_everything()

    @rule(pick=picks, event=st.sampled_from(TOLD_TO_TRIALS))
    def tell_a_trial(self, pick, event) -> None:
        if trials := self.world.trials():
            self.world.post(trials[pick % len(trials)], event)

    @rule(pick=picks, event=st.sampled_from(TOLD_TO_ALLOCATIONS))
    def tell_an_allocation(self, pick, event) -> None:
        if allocations := self.world.allocations():
            self.world.post(allocations[-1 - pick % len(allocations)], event)

    @rule(pick=picks)
    def mark_a_daemon(self, pick) -> None:
        if alive := self.world.alive():
            container = alive[pick % len(alive)]
            key = ("allocation", self.world.processes[container][2])
            self.world.post(key, alloc.DaemonMarked(container_id=container))

    @rule(pick=picks, metric=st.sampled_from([0.1, 0.9, 0.9, None]))
    def validate(self, pick, metric) -> None:
        if metric is not None or pick == 0:
            event = exp.ValidationReported(request_id=f"r{pick % 2}", metric=metric)
            self.world.post(EXPERIMENT, event)

    @invariant()
    def no_slot_is_held_twice(self) -> None:
        if hasattr(self, "world"):
            self.world.view()

    @invariant()
    def a_trial_has_at_most_one_open_allocation(self) -> None:
        if not hasattr(self, "world"):
            return
        states = [self.world.states[key] for key in self.world.allocations()]
        open_ = [s.request.trial_id for s in states if s.state != "TERMINATED"]
        assert len(open_) == len(set(open_))

    @invariant()
    def no_trial_ends_more_often_than_it_was_begun(self) -> None:
        if hasattr(self, "world"):
            for request_id in set(self.world.ended):
                begun = 1 + self.world.continued.count(request_id)
                assert self.world.ended.count(request_id) <= begun

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.settle(exp.ExperimentActivated(), code=0)
        if self.world.states[EXPERIMENT].state not in TERMINAL | LEAVING:
            self.settle(exp.ExperimentKilled(), code=137)  # an order that got lost is repeated
        world = self.world
        experiment = world.states[EXPERIMENT]
        assert experiment.state in TERMINAL | {"DELETED", "DELETE_FAILED"}, world.states
        assert experiment.collections == 0
        trials = [world.states[key] for key in world.trials()]
        assert all(t.state in TERMINAL and t.allocation_id is None for t in trials), trials
        assert {t.request_id for t in trials} == set(world.ended)
        assert experiment.trials_closed == experiment.trials_requested
        allocations = [world.states[key] for key in world.allocations()]
        assert all(a.state == "TERMINATED" and a.outcome for a in allocations)
        assert all(agent.slots == len(agent.free_slots) for agent in world.view().agents)
        assert world.processes == {}, "a process is left behind"
        assert world.timers == {}, "a timer is left behind"

    def settle(self, event, code) -> None:
        """Let everything run its course, each container ending with this code."""
        world = self.world
        world.post(EXPERIMENT, event)
        for _ in range(40):
            self.start_what_waits()
            for container in world.alive():
                _, agent_id, allocation = world.processes[container]
                world.end_process(container, code, agent_id, allocation)
            self.hear_everything()
            if not (world.busy() or world.alive() or world.view().pending):
                break
        else:
            raise AssertionError("it never comes to rest")


class TestLife(Life.TestCase):
    settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


TestLife.pytestmark = [pytest.mark.slow]
