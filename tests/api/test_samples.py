"""Every observed sample of a served route is answered as it was observed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from tests.api import (
    cases_cluster,
    cases_detached,
    cases_experiments,
    cases_interactive,
    cases_lists,
    cases_lives,
    cases_machines,
    cases_models,
    cases_policies,
    cases_projects,
    cases_proxy,
    cases_roles,
    cases_search,
    cases_tasks,
    cases_templates,
    cases_tokens,
    cases_usage,
    cases_users,
    cases_webhooks,
)
from tests.api.client import Client
from tests.api.master import PASSWORD, running_services
from tests.api.samples import PLACEHOLDER, Case, World, check, load, send
from tests.ready_database import ready_database

from determined_master.api.app import Api
from determined_master.api.http.cors import Cors
from determined_master.api.http.routes import Route
from determined_master.api.table import all_routes
from determined_master.api.targets import build_table
from determined_master.services.access.auth import Auth
from determined_master.services.access.identities import Identities
from determined_master.services.access.passwords import Passwords
from determined_master.store.db import Address, open_database
from determined_wire.proto import Endpoint

CASES: dict[str, Case] = {
    **cases_users.CASES,
    **cases_experiments.CASES,
    **cases_lives.CASES,
    **cases_machines.CASES,
    **cases_models.CASES,
    **cases_policies.CASES,
    **cases_detached.CASES,
    **cases_interactive.CASES,
    **cases_search.CASES,
    **cases_tasks.CASES,
    **cases_templates.CASES,
    **cases_tokens.CASES,
    **cases_cluster.CASES,
    **cases_lists.CASES,
    **cases_projects.CASES,
    **cases_proxy.CASES,
    **cases_roles.CASES,
    **cases_usage.CASES,
    **cases_webhooks.CASES,
}
SAMPLES = load()
WITH_CORS = "enable_cors: true"
KNOWN_CALLERS = {"admin", "user", "none", "bad", "inactive", "task", "revoked"}
TABLE = build_table(all_routes())


def served(sample: dict[str, Any]) -> bool:
    """Whether the route of a sample is in the table; a wrong method counts as its path."""
    path = PLACEHOLDER.sub("1", sample["path"].partition("?")[0])
    match = TABLE.find(path.encode())
    if match is None:
        return sample["id"] in CASES or not path.startswith("/api/v1/")
    target = match.targets.get(sample["method"])
    return not isinstance(target, Endpoint)


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def master(postgres: Address, passwords: Passwords) -> AsyncIterator[tuple[Api, World]]:
    """One master for all samples: to start one for each would take minutes."""
    async with (
        ready_database(postgres) as address,
        await open_database(address, min_size=1) as pool,
        running_services(address, pool, passwords) as (services, engine),
    ):
        api = Api(all_routes(), services, services[Identities])
        yield api, World(services, engine, {}, {})
        api.close()


@pytest_asyncio.fixture(loop_scope="module")
async def world(master: tuple[Api, World]) -> World:
    """Fresh users and tokens on that master."""
    api, first = master
    services = first.services
    made = World(services, first.engine, first.shared, {})
    await made.forget_users()
    for name, username in (("admin", "admin"), ("user", "determined")):
        opened = await services[Auth].login(username, PASSWORD, is_hashed=False)
        made.clients[name] = Client(api, opened.token)
    made.clients |= {"none": Client(api), "bad": Client(api, "nonsense")}
    return made


def is_unserved_plain(sample: dict[str, Any]) -> bool:
    path = PLACEHOLDER.sub("1", sample["path"].partition("?")[0])
    if path.startswith("/api/v1/") or sample["id"].startswith("plain.unknown"):
        return False
    match = TABLE.find(path.encode())
    if match is None:
        return True
    target = match.targets.get(sample["method"]) or match.targets.get("*")
    return not isinstance(target, Route)


def reason_to_skip(sample: dict[str, Any]) -> str:
    """Why a sample is no test yet; empty when it is one."""
    if sample["method"] in ("WS", "DELIVERY"):
        return "not an HTTP exchange: tested with what sends it"
    if sample.get("setup", WITH_CORS) != WITH_CORS:
        return f"needs another configuration: {sample['setup']}"
    if not served(sample):
        return "not served yet (501)"
    if is_unserved_plain(sample):
        return "not served yet (404)"
    if sample["auth"] not in KNOWN_CALLERS:
        return f"needs the token of a {sample['auth']}: not served yet"
    return ""


def as_parameter(sample: dict[str, Any]) -> Any:
    reason = reason_to_skip(sample)
    marks = [pytest.mark.skip(reason)] if reason else []
    missing = CASES.get(sample["id"], Case()).missing
    if missing and not reason:
        marks = [pytest.mark.xfail(reason=missing, strict=True)]
    return pytest.param(sample, id=sample["id"], marks=marks)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("sample", [as_parameter(s) for s in SAMPLES])
async def test_sample(sample: dict[str, Any], world: World) -> None:
    case = CASES.get(sample["id"], Case())
    if case.prepare is not None:
        await case.prepare(world)
    if sample.get("setup") == WITH_CORS:
        world.clients = {k: Client(Cors(c.app), c.token) for k, c in world.clients.items()}
    check(sample, case, await send(world, sample, case))


@pytest.mark.asyncio(loop_scope="module")
async def test_samples_of_routes_not_served_answer_501(world: World) -> None:
    """All of them in one test: each needs no more than a look at the table."""
    wrong = []
    for sample in SAMPLES:
        path = PLACEHOLDER.sub("1", sample["path"].partition("?")[0])
        is_http = sample["method"] not in ("WS", "DELIVERY")
        if is_http and path.startswith("/api/v1/") and not served(sample):
            answer = await world.clients["admin"](sample["method"], path)
            known = TABLE.find(path.encode()) is not None
            if answer.status != (501 if known else 404):
                wrong.append((sample["id"], answer.status))
    assert wrong == []


def test_every_case_is_of_a_sample() -> None:
    assert CASES.keys() <= {sample["id"] for sample in SAMPLES}
