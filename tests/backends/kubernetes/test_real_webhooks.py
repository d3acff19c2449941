"""Webhooks of a real cluster that refuse pods of tasks, or take their marks."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import ssl
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiohttp import web
from msgspec.structs import replace
from tests.backends.kubernetes.objects import KUBECONFIG, Json, cluster_options
from tests.backends.kubernetes.test_backend import ADDRESS, IMAGE
from tests.certificates import Authority
from tests.contracts.kubernetes_contract import World

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import KubernetesRefused
from determined_master.entropy import new_uuid
from determined_master.ports.orders import StartOrder

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("kubernetes"),
    pytest.mark.skipif(not KUBECONFIG, reason="DET_TEST_KUBECONFIG names no cluster"),
]
GROUP = "/apis/admissionregistration.k8s.io/v1"
WHY = "images of the task need a signature"


class Webhook:
    """A server that answers the questions of an API server about new pods."""

    def __init__(self, authority: Authority, name: str) -> None:
        self.name = name
        """Of the namespace whose pods it is asked about, and of its label."""
        self._authority = authority
        self.answer: Json = {"allowed": True}
        self.port = 0

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        pair = self._authority.sign(ADDRESS)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(pair.cert, pair.key)
        app = web.Application()
        app.router.add_post("/", self._review)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "0.0.0.0", 0, ssl_context=context)
        await site.start()
        self.port = runner.addresses[0][1]
        try:
            yield
        finally:
            await runner.cleanup()

    async def _review(self, request: web.Request) -> web.Response:
        asked = await request.json()
        response = {"uid": asked["request"]["uid"], **self.answer}
        return web.json_response(
            {"apiVersion": asked["apiVersion"], "kind": asked["kind"], "response": response}
        )

    def registration(self, kind: str) -> Json:
        """The object by which the API server asks it; `kind` is Validating or Mutating."""
        pods = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}
        url = f"https://{ADDRESS}:{self.port}/"
        trusted = base64.b64encode(self._authority.pem).decode()
        return {
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": f"{kind}WebhookConfiguration",
            "metadata": {"name": self.name},
            "webhooks": [
                {
                    "name": "signatures.determined.test",
                    "clientConfig": {"url": url, "caBundle": trusted},
                    "namespaceSelector": {"matchLabels": {self.name: "yes"}},
                    "rules": [{**pods, "operations": ["CREATE"]}],
                    "sideEffects": "None",
                    "admissionReviewVersions": ["v1"],
                    "failurePolicy": "Fail",
                    "timeoutSeconds": 10,
                }
            ],
        }


@pytest.fixture
async def webhook(tmp_path: Path) -> AsyncIterator[Webhook]:
    made = Webhook(Authority(tmp_path), f"det-test-{new_uuid().hex[:8]}")
    async with made.serving():
        yield made


@pytest.fixture
async def world(master: int, webhook: Webhook) -> AsyncIterator[World]:
    """A master whose tasks are in the namespace of the webhook."""
    options = cluster_options(KUBECONFIG, ADDRESS, master)
    made = World(replace(options, default_namespace=webhook.name), IMAGE, 120.0, "")
    body = {"metadata": {"name": webhook.name, "labels": {webhook.name: "yes"}}}
    await made.api.call("POST", "/api/v1/namespaces", body=body)
    try:
        await made.open()
        yield made
    finally:
        await made.api.call("DELETE", f"/api/v1/namespaces/{webhook.name}")
        await made.close()


@contextlib.asynccontextmanager
async def registered(world: World, webhook: Webhook, kind: str) -> AsyncIterator[None]:
    """The API server asks the webhook from now on, once it has noticed the registration."""
    path = f"{GROUP}/{kind.lower()}webhookconfigurations"
    await world.api.call("POST", path, body=webhook.registration(kind))
    try:
        yield
    finally:
        await world.api.call("DELETE", f"{path}/{webhook.name}")


async def asked(world: World, webhook: Webhook) -> None:
    """Return once the API server asks the webhook, which refuses every pod: it is not at once."""
    container = {"name": "c", "image": IMAGE, "command": ["true"]}
    spec = {"containers": [container], "nodeSelector": {webhook.name: "nowhere"}}
    path = f"/api/v1/namespaces/{webhook.name}/pods"
    for number in range(600):
        body = {"metadata": {"name": f"probe-{number}"}, "spec": spec}
        try:
            await world.api.call("POST", path, body=body)
        except KubernetesRefused as error:
            if WHY not in str(error):
                raise
            return
        await asyncio.sleep(0.1)
    raise AssertionError("the API server does not ask the webhook")


async def message_of(world: World, made: StartOrder) -> str:
    await world.state(made.container_id, "TERMINATED")
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    return failure.message


async def test_a_webhook_that_refuses_a_pod_is_named_with_its_text(
    world: World, webhook: Webhook
) -> None:
    webhook.answer = {"allowed": False, "status": {"message": WHY, "code": 403}}
    async with registered(world, webhook, "Validating"):
        await asked(world, webhook)
        made = world.order("true")
        await world.backend.start_container(made)
        said = await message_of(world, made)
    assert said.startswith("a policy of the cluster does not admit the task's pod in namespace")
    assert WHY in said
    await world.is_clean()


async def test_a_webhook_that_takes_the_mark_of_a_pod_is_named_and_no_pod_is_left(
    world: World, webhook: Webhook
) -> None:
    label = names.CONTAINER_ID.replace("/", "~1")
    patch = [{"op": "remove", "path": f"/metadata/labels/{label}"}]
    encoded = base64.b64encode(json.dumps(patch).encode()).decode()
    async with registered(world, webhook, "Mutating"):
        webhook.answer = {"allowed": False, "status": {"message": WHY, "code": 403}}
        await asked(world, webhook)
        webhook.answer = {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
        made = world.order("true")
        await world.backend.start_container(made)
        said = await message_of(world, made)
    assert names.CONTAINER_ID in said
    await world.is_clean()
