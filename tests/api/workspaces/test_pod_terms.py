"""What the pods of a task have of its owner, workspace and settings."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api import cases_experiments as scene
from tests.api.cases_interactive import CONFIG
from tests.api.client import Client
from tests.api.workspaces.test_namespaces import ONE, Clusters, clusters_of
from tests.api.workspaces.test_projects import workspace
from tests.covers import covers
from tests.domain.builders import requested, run

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.config.sections.resources import TopologyConfig
from determined_master.ports.orders import PodTerms
from determined_master.services.access.passwords import Passwords
from determined_master.services.containers.pod_terms import PodTermsReader
from determined_master.store.db import Address, Database

R = "helm-and-kubernetes"
POOL = "gpus"


@pytest.fixture
async def one(database: Address, pool: Database, passwords: Passwords) -> AsyncIterator[Clusters]:
    async with clusters_of(ONE, database, pool, passwords) as made:
        yield made


async def terms_of(settings: Any, pool: Database, state: alloc.Allocation) -> PodTerms:
    found = await PodTermsReader(settings, pool).read(state)
    assert found is not None
    return found


async def in_workspace(client: Client, kind: str, workspace_id: int) -> str:
    """The id of a new task."""
    resources = {"resource_pool": POOL, "slots": 0}
    config = {**CONFIG, "resources": resources}
    if kind == "command":
        body: dict[str, Any] = {"config": config, "workspaceId": workspace_id}
        answer = await client("POST", "/api/v1/commands", body)
        assert answer.status == 200, answer.body
        return str(answer.json()["command"]["id"])
    made = await client(
        "POST",
        f"/api/v1/workspaces/{workspace_id}/projects",
        {"name": "p", "workspaceId": workspace_id},
    )
    project_id = made.json()["project"]["id"]
    text = f"entrypoint: [sleep, '1']\nresources: {{resource_pool: {POOL}, slots: 0}}\n"
    answer = await client(
        "POST",
        "/api/v1/generic-tasks",
        {"config": text, "projectId": project_id, "contextDirectory": [scene.FILE]},
    )
    assert answer.status == 200, answer.body
    return str(answer.json()["taskId"])


@covers(f"{R} 7.owner")
@pytest.mark.parametrize("kind", ["command", "generic"])
async def test_pods_of_every_kind_have_the_name_of_their_workspace(
    one: Clusters, pool: Database, kind: str
) -> None:
    number = await workspace(one.admin, "Vision")
    task_id = await in_workspace(one.admin, kind, number)
    allocation_id = f"{task_id}.1"

    async def is_there() -> bool:
        return await one.world.engine.read(ALLOCATION, allocation_id) is not None

    await scene.until_true(is_there, bool, [])
    state = await one.world.engine.read(ALLOCATION, allocation_id)
    terms = await terms_of(ONE, pool, state)
    assert (terms.workspace, terms.username, terms.pool) == ("Vision", "admin", POOL)


@covers(f"{R} 10.gc")
@pytest.mark.parametrize("has_own", [True, False])
async def test_checkpoints_are_deleted_in_the_pod_of_the_settings_else_of_the_experiment(
    one: Clusters, pool: Database, has_own: bool
) -> None:
    given = {"spec": {"nodeSelector": {"of": "gc"}}}
    config = (
        f"{scene.CONFIG}resources: {{resource_pool: {POOL}}}\n"
        "environment: {pod_spec: {spec: {nodeSelector: {of: experiment}}},"
        " registry_auth: {username: u, password: p}}\n"
    )
    body = {"config": config, "modelDefinition": [scene.FILE], "activate": False}
    answer = await one.admin("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    number = int(answer.json()["experiment"]["id"])
    defaults = {"checkpoint_gc_pod_spec": given} if has_own else {}
    settings = replace(ONE, task_container_defaults=defaults)
    state, _ = run(requested(task_type="CHECKPOINT_GC", pool=POOL, experiment_id=number))
    terms = await terms_of(settings, pool, state)
    of = "gc" if has_own else "experiment"
    assert terms.pod_spec == {"spec": {"nodeSelector": {"of": of}}}
    assert terms.experiment_id == str(number)
    assert terms.secrets == 2


async def test_pods_of_trials_share_the_domain_of_the_configuration(
    one: Clusters, pool: Database
) -> None:
    config = (
        f"{scene.CONFIG}resources: {{resource_pool: {POOL}, "
        "topology: {domain: zone, required: true}}\n"
    )
    body = {"config": config, "modelDefinition": [scene.FILE], "activate": False}
    answer = await one.admin("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    number = int(answer.json()["experiment"]["id"])
    state, _ = run(requested(pool=POOL, experiment_id=number, trial_id=1))
    terms = await terms_of(ONE, pool, state)
    assert terms.topology == TopologyConfig(domain="zone", is_required=True)
    state, _ = run(requested(task_type="CHECKPOINT_GC", pool=POOL, experiment_id=number))
    gc = await terms_of(ONE, pool, replace(state, request=replace(state.request, trial_id=None)))
    assert gc.topology is None
