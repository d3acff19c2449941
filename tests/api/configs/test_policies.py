"""Config policies over the API: whose they are, and what they do to experiments."""

from __future__ import annotations

from typing import Any

import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer, Client
from tests.api.test_experiment_edits import PATH, config_of, created, killed
from tests.api.workspaces.test_projects import experiment, project, workspace
from tests.covers import covers

from determined_master.store.db import Database

GLOBAL = "/api/v1/config-policies/global"


def of(workspace_id: int, workload: str = "EXPERIMENT") -> str:
    return f"/api/v1/config-policies/workspaces/{workspace_id}/{workload}"


async def put(client: Client, text: str, path: str = f"{GLOBAL}/EXPERIMENT") -> Answer:
    return await client("PUT", path, {"configPolicies": text})


async def set_policies(client: Client, text: str, path: str = f"{GLOBAL}/EXPERIMENT") -> Any:
    answer = await put(client, text, path)
    assert answer.status == 200, answer.body
    return answer.json()["configPolicies"]


async def refused(client: Client, more: str, **body: Any) -> str:
    config = "{name: e, entrypoint: x, searcher: {name: single, metric: loss}%s}"
    given = {"config": config % more, "activate": False, **body}
    answer = await client("POST", PATH, given)
    assert answer.status == 400, answer.body
    return answer.text


@covers("experiment-config 19.api 19.storage")
@pytest.mark.parametrize("whose", ["cluster", "workspace"])
async def test_policies_are_set_replaced_shown_and_deleted_as_one(
    admin: Client, whose: str
) -> None:
    path = of(await workspace(admin)) if whose == "workspace" else f"{GLOBAL}/EXPERIMENT"
    assert (await admin("GET", path)).json() == {"configPolicies": {}}
    first = await set_policies(
        admin, "invariant_config: {max_restarts: 2}\nconstraints: {priority_limit: 9}", path
    )
    assert first == {"invariant_config": {"max_restarts": 2}, "constraints": {"priority_limit": 9}}
    second = await set_policies(admin, '{"constraints": {"resources": {"max_slots": 3}}}', path)
    assert second == {"constraints": {"resources": {"max_slots": 3}}}
    assert (await admin("GET", path.lower())).json() == {"configPolicies": second}
    other = path.replace("EXPERIMENT", "NTSC")
    assert (await admin("GET", other)).json() == {"configPolicies": {}}
    assert (await admin("DELETE", path)).json() == {}
    assert (await admin("GET", path)).json() == {"configPolicies": {}}
    again = await admin("DELETE", path)
    assert (again.status, "are specified" in again.text) == (404, True)


async def test_policies_that_cannot_be_are_refused_and_what_was_set_stays(admin: Client) -> None:
    await set_policies(admin, "constraints: {priority_limit: 9}")
    for text, said in (
        (" \n", "must not be empty"),
        ("{}", "say something under"),
        ("invariant_config: {max_restarts: -1}", "max_restarts: must be >= 0"),
        ("constraints: {priority_limit: 9}\nconstraints: {}", 'key "constraints" is given twice'),
    ):
        answer = await put(admin, text)
        assert answer.status == 400, text
        assert said in answer.text
    for method in ("GET", "PUT", "DELETE"):
        answer = await admin(method, f"{GLOBAL}/bogus", {"configPolicies": "x: 1"})
        assert (answer.status, "invalid workload type: bogus" in answer.text) == (400, True)
        answer = await admin(method, of(99), {"configPolicies": "constraints: {}"})
        assert (answer.status, answer.text) == (404, "workspace '99' not found")
    shown = await admin("GET", f"{GLOBAL}/EXPERIMENT")
    assert shown.json()["configPolicies"] == {"constraints": {"priority_limit": 9}}


@covers("experiment-config 19.conflicts")
async def test_a_workspaces_policies_are_held_to_the_clusters_when_they_are_set(
    admin: Client,
) -> None:
    await set_policies(admin, "constraints: {resources: {max_slots: 4}}")
    space = of(await workspace(admin))
    answer = await put(admin, "invariant_config: {resources: {slots_per_trial: 5}}", space)
    assert answer.status == 400
    assert "slots_per_trial 5 exceeds the limit of 4 slots that a config policy of the" in (
        answer.text
    )
    await set_policies(admin, "invariant_config: {resources: {slots_per_trial: 4}}", space)


async def test_the_clusters_are_set_by_admins_and_a_workspaces_by_its_owner(
    admin: Client, user: Client
) -> None:
    text = "constraints: {priority_limit: 1}"
    assert (await put(user, text)).status == 403
    assert (await user("DELETE", f"{GLOBAL}/EXPERIMENT")).status == 403
    assert (await put(user, text, of(await workspace(admin, "admins")))).status == 403
    own = of(await workspace(user, "own"))
    assert (await put(user, text, own)).status == 200
    assert (await user("GET", f"{GLOBAL}/EXPERIMENT")).status == 200
    assert (await user("DELETE", own)).status == 200


async def test_secrets_in_policies_are_shown_to_nobody_and_asterisks_keep_them(
    admin: Client, pool: Database
) -> None:
    where = "type: s3, bucket: b, access_key: k, secret_key: hidden"
    data = "data: {secrets: {t: x}}"
    shown = await set_policies(
        admin, f"invariant_config: {{checkpoint_storage: {{{where}}}, {data}}}"
    )
    storage = shown["invariant_config"]["checkpoint_storage"]
    assert (storage["bucket"], storage["secret_key"]) == ("b", "********")
    assert shown["invariant_config"]["data"]["secrets"] == {"t": "********"}
    again = where.replace("bucket: b", "bucket: c").replace("hidden", "'********'")
    await set_policies(admin, f"invariant_config: {{checkpoint_storage: {{{again}}}}}")
    made = await experiment(admin)
    async with pool.acquire() as conn:
        query = "SELECT config->'checkpoint_storage' AS s FROM experiments WHERE id = $1"
        held = (await conn.fetchrow(query, made["id"]))["s"]
    assert (held["bucket"], held["secret_key"]) == ("c", "hidden")


@covers("experiment-config 19.precedence 18.layer.1")
async def test_experiments_of_a_workspace_get_its_invariants_over_what_their_users_say(
    admin: Client,
) -> None:
    number = await workspace(admin)
    there = await project(admin, number)
    await set_policies(admin, "invariant_config: {max_restarts: 1}")
    await set_policies(admin, "invariant_config: {max_restarts: 2, debug: true}", of(number))
    body = {
        "config": "{entrypoint: x, max_restarts: 7, searcher: {name: single, metric: loss}}",
        "projectId": there,
        "activate": False,
    }
    answer = await admin("POST", PATH, body)
    config = answer.json()["config"]
    assert (config["max_restarts"], config["debug"]) == (1, True)
    told = answer.headers["x-determined-config-warnings"]
    assert "max_restarts" in told
    assert "the cluster" in told
    elsewhere = await config_of(admin, await created(admin))
    assert (elsewhere["max_restarts"], elsewhere["debug"]) == (1, False)


@covers("experiment-config 19.violations 1.9")
async def test_an_experiment_beyond_a_constraint_is_refused_with_the_policy_and_the_remedy(
    admin: Client,
) -> None:
    number = await workspace(admin)
    there = await project(admin, number)
    text = "constraints: {resources: {max_slots: 1}, priority_limit: 40}"
    await set_policies(admin, text, of(number))
    said = await refused(admin, ", resources: {max_slots: 2, priority: 39}", projectId=there)
    assert "resource constraint: requested resources.max_slots 2 exceeds the limit of 1" in said
    assert "priority constraint: requested resources.priority 39 exceeds the limit of 40" in said
    assert "workspace 'w'" in said
    assert "`det config-policies describe experiment`" in said
    only_checked = {"projectId": there, "validateOnly": True}
    assert "resource constraint" in await refused(
        admin, ", resources: {max_slots: 2}", **only_checked
    )
    await experiment(admin, ", resources: {max_slots: 1, priority: 40}", projectId=there)
    await experiment(admin, ", resources: {max_slots: 2, priority: 39}")


@covers("experiment-config 19.updates 14.gc_editing")
async def test_later_changes_are_held_to_the_policies_of_that_time(admin: Client) -> None:
    number = await created(admin)
    await set_policies(
        admin,
        "invariant_config: {resources: {weight: 1}, checkpoint_storage: {save_trial_best: 1}}\n"
        "constraints: {resources: {max_slots: 4}, priority_limit: 30}",
    )
    for body, said in (
        ({"resources": {"weight": 2}}, "resources.weight cannot be modified"),
        ({"checkpointStorage": {"saveTrialBest": 2}}, "save_trial_best cannot be modified"),
        ({"resources": {"maxSlots": 5}}, "resource constraint"),
        ({"resources": {"priority": 29}, "name": "renamed"}, "priority constraint"),
    ):
        answer = await admin("PATCH", f"{PATH}/{number}", body)
        assert answer.status == 400, body
        assert said in answer.text
    assert (await config_of(admin, number))["name"] == "e"
    right = {"resources": {"weight": 1, "maxSlots": 4, "priority": 30}}
    assert (await admin("PATCH", f"{PATH}/{number}", right)).status == 200


@covers("scheduling-and-provisioning a.5.priority_fixed a.5.weight_fixed a.5.max_slots_fixed")
async def test_terms_that_a_policy_sets_are_not_changed(admin: Client) -> None:
    made = await experiment(admin, activate=True)
    await scene.until(
        admin, "/api/v1/job-queues?resourcePool=default", lambda got: len(got["jobs"]) == 1
    )
    fixed = "priority: 50, weight: 2, max_slots: 4"
    await set_policies(admin, f"invariant_config: {{resources: {{{fixed}}}}}")
    for change in ({"priority": 51}, {"weight": 3}):
        update = {"updates": [{"jobId": made["jobId"], **change}]}
        answer = await admin("POST", "/api/v1/job-queues", update)
        assert answer.status == 400
        assert answer.text.startswith(f"resources.{next(iter(change))} cannot be modified")
    body = {"resources": {"maxSlots": 5}}
    answer = await admin("PATCH", f"{PATH}/{made['id']}", body)
    assert (answer.status, "max_slots cannot be modified" in answer.text) == (400, True)
    right = {"updates": [{"jobId": made["jobId"], "priority": 50}]}
    assert (await admin("POST", "/api/v1/job-queues", right)).status == 200


@covers("scheduling-and-provisioning a.5.priority_limit")
@covers("experiment-config 19.updates")
async def test_the_job_queue_is_held_to_them_too(admin: Client) -> None:
    first, second = [(await experiment(admin, activate=True))["jobId"] for _ in range(2)]
    await scene.until(
        admin, "/api/v1/job-queues?resourcePool=default", lambda got: len(got["jobs"]) == 2
    )
    await set_policies(
        admin, "invariant_config: {resources: {weight: 1}}\nconstraints: {priority_limit: 40}"
    )
    for change, said in (
        ({"priority": 39}, "priority constraint: requested resources.priority 39"),
        ({"weight": 2}, "resources.weight cannot be modified"),
    ):
        update = {"updates": [{"jobId": first, **change}]}
        answer = await admin("POST", "/api/v1/job-queues", update)
        assert answer.status == 400, change
        assert said in answer.text
    await admin("DELETE", f"{GLOBAL}/EXPERIMENT")
    urgent = {"updates": [{"jobId": second, "priority": 5}]}
    assert (await admin("POST", "/api/v1/job-queues", urgent)).status == 200
    await set_policies(admin, "constraints: {priority_limit: 40}")
    ahead = {"updates": [{"jobId": first, "aheadOf": second}]}
    answer = await admin("POST", "/api/v1/job-queues", ahead)
    assert (answer.status, "resources.priority 5 exceeds" in answer.text) == (400, True)


@covers("experiment-config 19.updates")
async def test_a_continued_experiment_gets_the_invariants_of_today(admin: Client) -> None:
    number = await killed(admin)
    await set_policies(admin, "invariant_config: {max_restarts: 3}")
    body = {"id": number, "overrideConfig": "max_restarts: 9"}
    answer = await admin("POST", f"{PATH}/continue", body)
    assert answer.status == 200, answer.body
    assert (await config_of(admin, number))["max_restarts"] == 3


async def test_policies_go_with_their_workspace(admin: Client, pool: Database) -> None:
    number = await workspace(admin)
    await set_policies(admin, "constraints: {priority_limit: 9}", of(number))
    await set_policies(admin, "constraints: {priority_limit: 9}", of(number, "NTSC"))
    assert (await admin("DELETE", f"/api/v1/workspaces/{number}")).status == 200
    async with pool.acquire() as conn:
        assert await conn.fetchval("SELECT count(*) FROM config_policies") == 0


async def test_open_work_moves_only_where_the_policies_allow_it(admin: Client) -> None:
    bounded = await workspace(admin, "bounded")
    there = await project(admin, bounded)
    policies = (
        "invariant_config: {max_restarts: 3, resources: {weight: 2}}\n"
        "constraints: {resources: {max_slots: 1}}"
    )
    await set_policies(admin, policies, of(bounded))
    made = await experiment(admin, ", resources: {slots_per_trial: 0, weight: 2}, max_restarts: 1")
    path, move = f"/api/v1/experiments/{made['id']}/move", {"destinationProjectId": there}
    answer = await admin("POST", path, move)
    assert answer.status == 400
    assert "max_restarts is set to another value by a config policy of workspace" in answer.text
    assert "resources.weight" not in answer.text
    body = {"resources": {"maxSlots": 2}}
    assert (await admin("PATCH", f"/api/v1/experiments/{made['id']}", body)).status == 200
    assert "exceeds the limit of 1 slots" in (await admin("POST", path, move)).text
    fits = await experiment(admin, ", resources: {slots_per_trial: 0, weight: 2}, max_restarts: 3")
    route = f"/api/v1/experiments/{fits['id']}/move"
    assert (await admin("POST", route, move)).status == 200
    over = await killed(admin)
    path = f"/api/v1/experiments/{over}/move"
    assert (await admin("POST", path, move)).status == 200
