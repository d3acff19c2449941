"""Which checkpoints the token of a task shows."""

from __future__ import annotations

import pytest

from determined_master.domain.access.rules import TaskScope, may_read

TRIAL = TaskScope(task_id="1.a", allocation_id="1.a.1", trial_id=3, experiment_id=2)
COMMAND = TaskScope(task_id="b", allocation_id="b.1")


@pytest.mark.parametrize(
    ("experiment_id", "source", "may"),
    [(2, None, True), (9, None, False), (9, "u", True), (None, None, False)],
)
def test_a_trial_reads_its_experiments_and_its_source(
    experiment_id: int | None, source: str | None, may: bool
) -> None:
    assert may_read(TRIAL, "u", experiment_id, source) is may


def test_a_command_has_no_checkpoints() -> None:
    assert not may_read(COMMAND, "u", None, None)
