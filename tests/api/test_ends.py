"""What has ended stays as it ended, whoever asks for its end again."""

from __future__ import annotations

from tests.api import cases_experiments as scene
from tests.api.client import Client
from tests.api.samples import World

from determined_master.domain.allocation import messages as alloc


async def test_killing_what_has_ended_changes_nothing_of_it(world: World) -> None:
    await scene.ended(world)
    admin, names = world.clients["admin"], world.names
    experiment = f"/api/v1/experiments/{names['experiment_id']}"
    shown = (
        experiment,
        f"/api/v1/trials/{names['trial_id']}",
        f"/api/v1/tasks/{names['task_id']}",
        f"/api/v1/allocations/{names['allocation_id']}",
    )

    async def ends() -> list[tuple[str, str]]:
        got = [next(iter((await admin("GET", path)).json().values())) for path in shown]
        return [(thing.get("state", ""), thing["endTime"]) for thing in got]

    async def story() -> int:
        return len((await admin("GET", f"{experiment}/story")).json()["lines"])

    before, told = await ends(), await story()
    assert all(end for _, end in before)
    for verb in ("kill", "cancel"):
        assert (await admin("POST", f"{experiment}/{verb}", {})).status == 200
    assert await story() == told
    await admin("POST", f"/api/v1/trials/{names['trial_id']}/kill", {})
    for late in (alloc.BecameReady(), alloc.KillRequested(reason="late")):
        await scene.post(world, names, late)
    assert await ends() == before


async def test_a_tasks_tokens_are_refused_as_soon_as_its_allocation_ends(
    world: World,
) -> None:
    await scene.running(world)
    names, app = world.names, world.clients["admin"].app
    tokens = await scene.task_tokens(world)
    task = Client(app, tokens.session_token(names["allocation_id"]))
    owner = Client(app, tokens.user_token(names["allocation_id"]))
    for client in (task, owner):
        assert (await client("GET", "/api/v1/me")).status == 200
    await scene.container(world, names, "TERMINATED", exit_code=0)
    for client in (task, owner):
        assert (await client("GET", "/api/v1/me")).status == 401
