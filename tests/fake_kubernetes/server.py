"""The API server: the paths that the backend calls, answered as Kubernetes answers them."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Callable
from email.utils import format_datetime
from pathlib import Path
from typing import Any

from aiohttp import web
from tests.fake_kubernetes import admission, quotas
from tests.fake_kubernetes.store import Json, Store, now, now_text

TOKEN = "fake"
DEVICES = "/apis/resource.k8s.io"
GRACE_S = 30
"""Of a pod that is deleted, where nothing says otherwise."""


class FakeServer:
    """Serves one store on a port of this machine."""

    def __init__(self) -> None:
        self.store = Store()
        self.refusals: dict[tuple[str, str], tuple[int, str, str]] = {}
        """By method and kind: status, reason and message."""
        self.failures: list[tuple[str, str, web.Response]] = []
        """Answers to one call each: method, kind (or `log`) and the answer."""
        self.mutate: Callable[[str, Json], None] | None = None
        """Changes new objects before they are stored, as a webhook does: kind, object."""
        self.broken = False
        """Every call is answered by 503."""
        self.hides_pods_of_others = False
        """Lists and watches of them are answered by 503."""
        self.logs: dict[str, bytearray] = {}
        """By uid of pods: with times, as the API gives them."""
        self.forgotten: set[str] = set()
        """Uids of pods whose containers are removed, and their logs."""
        self.ended: set[str] = set()
        """Uids of pods whose program has ended."""
        self.expired = 0
        """Watches that were told that their version is gone."""
        self.calls: list[tuple[str, str]] = []
        self.crds: tuple[str, ...] = (
            "/apis/autoscaling.x-k8s.io/v1",
            "/apis/kueue.x-k8s.io/v1beta1",
            "/apis/scheduling.x-k8s.io/v1alpha1",
            "/apis/gateway.networking.k8s.io/v1",
            "/apis/gateway.networking.k8s.io/v1alpha2",
        )
        """Groups and versions of custom resources, at the start of the server."""
        self.device_versions: tuple[str, ...] = ("v1",)
        """Served versions of `resource.k8s.io`; the group is not served without any."""
        self.unknown_kinds: set[str] = set()
        """Kinds that the server does not have."""
        self.webhooks: list[Callable[[Json], None]] = []
        """Each changes a pod before it is stored."""
        self._runner: web.AppRunner | None = None
        self._streams: set[asyncio.Task[Any]] = set()
        self.port = 0

    async def start(self) -> None:
        app = web.Application(middlewares=[self._guard])
        devices = tuple(f"{DEVICES}/{version}" for version in ("v1", "v1beta2", "v1beta1"))
        app.router.add_get(DEVICES, self._discover_devices)
        for prefix in ("/api/v1", "/apis/scheduling.k8s.io/v1", *devices, *self.crds):
            app.router.add_get(prefix, self._discover)
            for where in ("", "/namespaces/{namespace}"):
                base = f"{prefix}{where}/{{kind}}"
                app.router.add_get(base, self._list)
                app.router.add_post(base, self._create)
                app.router.add_get(f"{base}/{{name}}", self._get)
                app.router.add_put(f"{base}/{{name}}", self._replace)
                app.router.add_patch(f"{base}/{{name}}", self._patch)
                app.router.add_patch(f"{base}/{{name}}/status", self._patch)
                app.router.add_delete(f"{base}/{{name}}", self._delete)
        app.router.add_get("/api/v1/namespaces/{namespace}/pods/{name}/log", self._log)
        app.router.add_get(
            "/api/v1/namespaces/{namespace}/pods/{name}/portforward", self._forward_port
        )
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port)
        await site.start()
        self.port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        await self.store.put("namespaces", {"metadata": {"name": "default"}})

    async def stop(self) -> None:
        for stream in list(self._streams):
            stream.cancel()
        if self._runner is not None:
            await self._runner.cleanup()

    def break_streams(self) -> None:
        """End all watches and logs that are followed, as a restart of the server does."""
        for stream in list(self._streams):
            stream.cancel()

    def kubeconfig(self, path: Path) -> Path:
        """A file by which the server is reached."""
        server = f"http://127.0.0.1:{self.port}"
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "fake", "cluster": {"server": server}}],
            "users": [{"name": "admin", "user": {"token": TOKEN}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "admin"}}],
            "current-context": "fake",
        }
        path.write_text(json.dumps(config))
        return path

    @web.middleware
    async def _guard(self, request: web.Request, handler: Any) -> web.StreamResponse:
        self.calls.append((request.method, request.path))
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            return _status(401, "Unauthorized", "no token")
        if self.broken:
            return _status(503, "ServiceUnavailable", "the server is broken")
        if self.hides_pods_of_others and "!=" in request.query.get("labelSelector", ""):
            return _status(503, "ServiceUnavailable", "too many pods")
        is_hidden = request.path.startswith(f"{DEVICES}/") and (
            request.path.split("/")[3] not in self.device_versions
        )
        if is_hidden or request.match_info.get("kind") in self.unknown_kinds:
            return _status(404, "NotFound", "the server could not find the requested resource")
        failure = self._failure(request)
        if failure is not None:
            return failure
        refusal = self.refusals.get((request.method, request.match_info.get("kind", "")))
        if refusal is not None:
            return _status(*refusal)
        response: web.StreamResponse = await handler(request)
        if not response.prepared:
            response.headers["Date"] = format_datetime(now(), usegmt=True)
        return response

    def fail_once(
        self, method: str, kind: str, code: int, reason: str, message: str, **headers: str
    ) -> None:
        """Answer the next call of that method and kind with a failure."""
        answer = _status(code, reason, message)
        answer.headers.update({name.replace("_", "-"): text for name, text in headers.items()})
        self.failures.append((method, kind, answer))

    def _failure(self, request: web.Request) -> web.Response | None:
        kind = "log" if request.path.endswith("/log") else request.match_info.get("kind", "")
        for number, (method, of, answer) in enumerate(self.failures):
            if (method, of) == (request.method, kind):
                del self.failures[number]
                return answer
        return None

    async def _forward_port(self, request: web.Request) -> web.StreamResponse:
        """A pod's port is one of this machine; bytes go as in a real one's WebSockets."""
        port = int(request.query["ports"])
        socket = web.WebSocketResponse(protocols=("v4.channel.k8s.io",))
        await socket.prepare(request)
        for channel in (b"\0", b"\1"):
            await socket.send_bytes(channel + port.to_bytes(2, "little"))
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError as error:
            await socket.send_bytes(b"\1" + str(error).encode())
            await socket.close()
            return socket

        async def from_pod() -> None:
            while data := await reader.read(1000):
                await socket.send_bytes(b"\0" + data)
            await socket.close()

        task = asyncio.create_task(from_pod())
        self._streams.add(task)
        try:
            async for frame in socket:
                if frame.type == web.WSMsgType.BINARY:
                    writer.write(frame.data[1:])
        finally:
            task.cancel()
            self._streams.discard(task)
            writer.close()
        return socket

    async def _list(self, request: web.Request) -> web.StreamResponse:
        kind, query = request.match_info["kind"], dict(request.query)
        namespace = request.match_info.get("namespace")
        if query.get("watch") == "true":
            return await self._watch(request, kind, namespace, query)
        items = self.store.list(kind, namespace, query)
        meta = {"resourceVersion": str(self.store.version)}
        return web.json_response({"kind": "List", "metadata": meta, "items": items})

    async def _watch(
        self, request: web.Request, kind: str, namespace: str | None, query: dict[str, str]
    ) -> web.StreamResponse:
        response = web.StreamResponse()
        await response.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        since = int(query.get("resourceVersion") or 0)
        try:
            if since < self.store.oldest:
                self.expired += 1
                gone = {"code": 410, "reason": "Expired", "message": "too old resource version"}
                await _send(response, {"type": "ERROR", "object": gone})
                return response
            async with asyncio.timeout(float(query.get("timeoutSeconds") or 60)):
                while True:
                    for change in list(self.store.happened):
                        if change.version <= since or change.kind != kind:
                            continue
                        if what := change.seen_by(namespace, query):
                            await _send(response, {"type": what, "object": change.now})
                    since = self.store.version
                    async with self.store.news:
                        await self.store.news.wait_for(lambda: self.store.version > since)  # noqa: B023
        except TimeoutError:
            return response
        finally:
            self._streams.discard(task)

    async def _create(self, request: web.Request) -> web.Response:
        kind, namespace = request.match_info["kind"], request.match_info.get("namespace", "")
        item: Json = await request.json()
        name = item["metadata"]["name"]
        if namespace and self.store.find("namespaces", "", namespace) is None:
            return _status(404, "NotFound", f'namespaces "{namespace}" not found')
        if namespace and self._is_going(namespace):
            text = f'{kind} "{name}" is forbidden: unable to create new content in namespace'
            text = f"{text} {namespace} because it is being terminated"
            return _status(403, "Forbidden", text, cause="NamespaceTerminating")
        if kind == "namespaces" and self._is_going(name):
            text = f'object is being deleted: namespaces "{name}" already exists'
            return _status(409, "AlreadyExists", text)
        if self.store.find(kind, namespace, name) is not None:
            return _status(409, "AlreadyExists", f'{kind} "{name}" already exists')
        if namespace:
            item["metadata"]["namespace"] = namespace
        if self.mutate is not None:
            self.mutate(kind, item)
        wrong = admission.invalid(kind, item)
        if wrong:
            return _status(422, "Invalid", wrong)
        forbidden = self._forbidden(kind, namespace, item)
        if forbidden:
            return _status(403, "Forbidden", forbidden)
        if kind == "pods":
            for webhook in self.webhooks:
                webhook(item)
        made = await self.store.put(kind, item)
        await quotas.count(self.store, namespace)
        return web.json_response(made, status=201)

    def _forbidden(self, kind: str, namespace: str, item: Json) -> str:
        """Why classes, LimitRanges or quotas do not admit an object; empty when they do."""
        text = ""
        if kind == "pods":
            text = admission.unknown_class(self.store, item)
            text = text or quotas.out_of_range(self.store, namespace, item)
        if kind in ("pods", "secrets"):
            text = text or quotas.refusal(self.store, namespace, kind, item)
        return text

    def _found(self, request: web.Request) -> tuple[str, str, str, Json | None]:
        kind, name = request.match_info["kind"], request.match_info["name"]
        namespace = request.match_info.get("namespace", "")
        return kind, namespace, name, self.store.find(kind, namespace, name)

    async def _get(self, request: web.Request) -> web.Response:
        kind, _, name, item = self._found(request)
        if item is None:
            return _status(404, "NotFound", f'{kind} "{name}" not found')
        return web.json_response(item)

    async def _patch(self, request: web.Request) -> web.Response:
        kind, _, name, item = self._found(request)
        if item is None:
            return _status(404, "NotFound", f'{kind} "{name}" not found')
        _merge(item, await request.json())
        return web.json_response(await self.store.put(kind, item))

    async def _replace(self, request: web.Request) -> web.Response:
        """Store a changed object, unless others have changed it since it was read."""
        kind, namespace, name, item = self._found(request)
        if item is None:
            return _status(404, "NotFound", f'{kind} "{name}" not found')
        given: Json = await request.json()
        version = given["metadata"].get("resourceVersion")
        if version not in (None, item["metadata"]["resourceVersion"]):
            text = f'Operation cannot be fulfilled on {kind} "{name}": it has been modified'
            return _status(409, "Conflict", text)
        wrong = admission.invalid(kind, given)
        if wrong:
            return _status(422, "Invalid", wrong)
        given["metadata"].update(namespace=namespace, uid=item["metadata"]["uid"])
        return web.json_response(await self.store.put(kind, given))

    async def _discover(self, request: web.Request) -> web.Response:
        """The kinds of a group; without those that a test has taken away."""
        known = {"v1alpha2": ["tcproutes"], "v1": ["gateways"]}
        version = request.path.rpartition("/")[2]
        kinds = [kind for kind in known.get(version, ()) if kind not in self.unknown_kinds]
        resources = [{"name": kind, "namespaced": True} for kind in kinds]
        return web.json_response({"kind": "APIResourceList", "resources": resources})

    async def _discover_devices(self, request: web.Request) -> web.Response:
        """The served versions of `resource.k8s.io`."""
        if not self.device_versions:
            return _status(404, "NotFound", "the server could not find the requested resource")
        versions = [
            {"groupVersion": f"resource.k8s.io/{version}", "version": version}
            for version in self.device_versions
        ]
        found = {"kind": "APIGroup", "name": "resource.k8s.io", "versions": versions}
        return web.json_response(found)

    async def _delete(self, request: web.Request) -> web.Response:
        kind, namespace, name, item = self._found(request)
        if item is None:
            return _status(404, "NotFound", f'{kind} "{name}" not found')
        text = await request.text()
        uid = ((json.loads(text) if text else {}).get("preconditions") or {}).get("uid")
        if uid not in (None, item["metadata"]["uid"]):
            return _status(409, "Conflict", f"the UID in the precondition ({uid}) differs")
        if kind == "namespaces":
            return await self._delete_namespace(item)
        grace = request.query.get("gracePeriodSeconds")
        is_placed = (item.get("spec") or {}).get("nodeName")
        is_running = kind == "pods" and is_placed and not _is_over(item)
        if is_running and grace != "0":
            spec = item.get("spec") or {}
            left_s = int(grace or spec.get("terminationGracePeriodSeconds") or GRACE_S)
            goes = {"deletionTimestamp": now_text(left_s), "deletionGracePeriodSeconds": left_s}
            item["metadata"].update(goes)
            await self.store.put(kind, item)
        elif item["metadata"].get("finalizers"):
            item["metadata"].setdefault("deletionTimestamp", now_text())
            await self.store.put(kind, item)
        else:
            await self.store.remove(kind, namespace, name)
            await quotas.count(self.store, namespace)
        return web.json_response(item)

    async def _delete_namespace(self, item: Json) -> web.Response:
        """Take nothing new into a namespace, empty it, and then remove it."""
        name = item["metadata"]["name"]
        if self._is_going(name):
            text = f'Operation cannot be fulfilled on namespaces "{name}": it is being emptied'
            return _status(409, "Conflict", text)
        item["metadata"]["deletionTimestamp"] = now_text()
        item["status"] = {"phase": "Terminating"}
        await self.store.put("namespaces", item)

        async def empty() -> None:
            def is_held() -> bool:
                inside = [i for key, i in self.store.objects.items() if key[1] == name]
                return any(item["metadata"].get("finalizers") for item in inside)

            async with self.store.news:
                await self.store.news.wait_for(lambda: not is_held())
            for kind, where, inside in list(self.store.objects):
                if where == name:
                    await self.store.remove(kind, where, inside)
            await self.store.remove("namespaces", "", name)

        task = asyncio.create_task(empty())
        self._streams.add(task)
        task.add_done_callback(self._streams.discard)
        return web.json_response(item)

    def _is_going(self, namespace: str) -> bool:
        found = self.store.find("namespaces", "", namespace)
        return found is not None and "deletionTimestamp" in found["metadata"]

    async def _log(self, request: web.Request) -> web.StreamResponse:
        namespace, name = request.match_info["namespace"], request.match_info["name"]
        pod = self.store.find("pods", namespace, name)
        if pod is None:
            return _status(404, "NotFound", f'pods "{name}" not found')
        uid = pod["metadata"]["uid"]
        if uid not in self.logs:
            text = f'container "{request.query["container"]}" in pod "{name}" is waiting to start'
            return _status(400, "BadRequest", text)
        if uid in self.forgotten:
            return web.Response(text=f"unable to retrieve container logs for docker://{uid}")
        response = web.StreamResponse()
        await response.prepare(request)
        task = asyncio.current_task()
        assert task is not None
        self._streams.add(task)
        sent = 0
        try:
            while True:
                is_over = uid in self.ended or self.store.find("pods", namespace, name) is None
                data = bytes(self.logs.get(uid, b"")[sent:])
                if data:
                    await response.write(_since(data, request.query.get("sinceTime", "")))
                    sent += len(data)
                elif is_over or request.query.get("follow") != "true":
                    return response
                else:
                    await asyncio.sleep(0.02)
        finally:
            self._streams.discard(task)


def _is_over(pod: Json | None) -> bool:
    return pod is None or (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")


def _since(data: bytes, second: str) -> bytes:
    """The lines of that second and later ones, as a kubelet finds out by each line's time."""
    lines = io.BytesIO(data).readlines()
    return b"".join(line for line in lines if line[:19].decode() >= second[:19])


def _merge(item: Json, patch: Json) -> None:
    for key, value in patch.items():
        if isinstance(value, dict) and isinstance(item.get(key), dict):
            _merge(item[key], value)
        elif value is None:
            item.pop(key, None)
        else:
            item[key] = value


async def _send(response: web.StreamResponse, change: Json) -> None:
    await response.write(json.dumps(change).encode() + b"\n")


def _status(code: int, reason: str, message: str, cause: str = "") -> web.Response:
    body: Json = {"kind": "Status", "status": "Failure", "reason": reason, "message": message}
    if cause:
        body["details"] = {"causes": [{"reason": cause}]}
    return web.json_response({**body, "code": code}, status=code)
