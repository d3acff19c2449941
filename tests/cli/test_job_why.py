"""`det job why`: names and owners of what holds a job, and no ids."""

from __future__ import annotations

from typing import Any

from tests.cli.conftest import Det
from tests.cli.fake_master import FakeMaster

WAITS: dict[str, Any] = {
    "allocationId": "7a.1",
    "decidedAt": "2026-11-30T12:00:00Z",
    "waitsSince": "2026-11-30T11:59:00Z",
    "needsSlots": 1,
    "isSingleNode": True,
    "freeSlots": 0,
    "free": [],
    "aheadCount": 2,
    "ahead": [
        {"allocationId": "5b.1", "slots": 1, "priority": 42, "name": "Shell", "username": "ada"},
        {"allocationId": "", "slots": 4, "priority": 1},
    ],
    "next": [
        {"allocationId": "3c.1", "slots": 2, "agents": ["a1", "a2"], "isLeaving": True},
        {
            "allocationId": "4d.1",
            "slots": 1,
            "agents": ["a3"],
            "aboutAt": "2026-11-30T12:30:00Z",
            "name": "Trial 3 (Experiment 1)",
            "username": "",
        },
    ],
    "smaller": None,
}


def test_a_wait_names_tasks_and_owners(det: Det, master: FakeMaster) -> None:
    answer = {
        "jobId": "7a",
        "resourcePool": "default",
        "running": 0,
        "waiting": 1,
        "text": "waits for 1 slot",
        "waits": WAITS,
    }
    master.routes["GET", "/api/v1/job-queues/12/why"] = (200, answer)
    lines = [line.strip() for line in det("job", "why", "12").out.splitlines()]
    assert lines == [
        "Job 12 in resource pool default: 0 with slots, 1 waiting",
        "waits for 1 slot",
        "Waiting:    since 2026-11-30 11:59:00+0000",
        "Needs:      1 slot on one machine",
        "Free:       0 slots",
        "Ahead:      2",
        "Shell of ada, 1 slot, priority 42",
        "another task, 4 slots, priority 1",
        "Frees next: 3c.1, 2 slots on a1, a2: is leaving",
        "Trial 3 (Experiment 1) of a deleted user, 1 slot on a3: about 2026-11-30 12:30:00+0000",
        "Would start now with: no smaller number of slots",
        "Decided at: 2026-11-30 12:00:00+0000",
    ]
