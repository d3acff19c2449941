"""Runs the pods of the fake cluster as plain processes, and tells how they do.

A container's `/run/determined…` and `/opt/determined/harness` lie in a directory of the pod's own:
paths in variables and arguments are changed to it, as no file system of its own is there.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import shutil
import signal
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

from tests.fake_kubernetes import quotas
from tests.fake_kubernetes.devices import FakeDevices
from tests.fake_kubernetes.server import FakeServer
from tests.fake_kubernetes.store import Json, now, now_text

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.placeholder import DEMAND
from determined_master.domain.pods.needs import needs_of, requested
from determined_master.domain.pods.placement import facts_of, misfit
from determined_master.domain.pods.quantities import total

IMAGES_THAT_ARE_NOT_THERE = "missing"
PULLS = (
    ("ErrImagePull", "Error response from daemon: manifest for missing not found"),
    ("ImagePullBackOff", 'Back-off pulling image "missing"'),
)
"""How a kubelet reports that it has not pulled an image: why, and then that it will try again."""
VOLUMES_THAT_ARE_NOT_THERE = "unmountable"
"""An image whose pods wait for a volume."""
_PLACES = {
    "/run/determined": "space/run",
    "/run/determined-order": "order",
    "/run/determined-space": "space",
    "/dev/termination-log": "termination-log",
}
"""Where paths of a container lie in the directory of its pod."""


class FakeKubelet:
    """The nodes of a fake cluster."""

    def __init__(self, server: FakeServer, root: Path) -> None:
        self.server = server
        self.root = root
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._processes: dict[str, asyncio.subprocess.Process] = {}
        self._signalled: set[tuple[str, int]] = set()
        self._cut_off: set[str] = set()
        self.devices: FakeDevices | None = None
        """Allocates the claims of pods; None where the cluster has none."""
        server.store.listeners.append(self._heard)

    async def add_node(self, name: str, cpu: int = 4, **spec: Any) -> None:
        """A node that is ready."""
        status = {
            "allocatable": {"cpu": str(cpu), "memory": "16Gi"},
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.30.0"},
        }
        node = {"metadata": {"name": name, "labels": {}}, "spec": spec, "status": status}
        await self.server.store.put("nodes", node)

    async def label(self, name: str, **labels: str) -> None:
        """Give a node these labels, and no others."""
        node = self.server.store.find("nodes", "", name)
        assert node is not None
        node["metadata"]["labels"] = labels
        await self.server.store.put("nodes", node)

    async def set_ready(self, name: str, is_ready: bool) -> None:
        node = self.server.store.find("nodes", "", name)
        assert node is not None
        condition = {"type": "Ready", "status": "True" if is_ready else "Unknown"}
        node["status"]["conditions"] = [condition]
        await self.server.store.put("nodes", node)

    def runs(self, uid: str) -> bool:
        """Whether the program of a pod runs."""
        process = self._processes.get(uid)
        return process is not None and process.returncode is None

    async def partition(self, name: str) -> None:
        """Cut a node off: its pods go on, and its kubelet hears of nothing."""
        self._cut_off.add(name)
        await self.set_ready(name, False)

    async def heal(self, name: str) -> None:
        """Its kubelet catches up before the node is ready."""
        self._cut_off.discard(name)
        for item in self.server.store.list("pods", None, {}):
            if (item.get("spec") or {}).get("nodeName") == name:
                self._heard("MODIFIED", "pods", item)
        await self.set_ready(name, True)

    async def taint(self, name: str, *taints: Json) -> None:
        """Give a node these taints, and no others."""
        node = self.server.store.find("nodes", "", name)
        assert node is not None
        node["spec"]["taints"] = list(taints)
        await self.server.store.put("nodes", node)

    async def stop(self) -> None:
        """Kill all pods, also those that are still prepared; nothing of them is left."""
        for task in self._tasks.values():
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        for process in self._processes.values():
            _kill(process, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                process.kill()  # what prepares a pod leads no group
        async with asyncio.timeout(60):
            for process in self._processes.values():
                await process.wait()

    def _heard(self, what: str, kind: str, item: Json) -> None:
        if kind != "pods":
            return
        if (item.get("spec") or {}).get("nodeName") in self._cut_off:
            return
        uid = item["metadata"]["uid"]
        if what == "ADDED":
            self._tasks[uid] = asyncio.get_running_loop().create_task(self._live(item))
        elif what == "DELETED" or _is_to_end(item):
            process = self._processes.get(uid)
            if process is not None and process.returncode is None:
                self._tell_deadline(item)
                number = signal.SIGKILL if what == "DELETED" else signal.SIGTERM
                if (uid, number) not in self._signalled:
                    self._signalled.add((uid, number))
                    _kill(process, number)
            elif what != "DELETED" and self._tasks[uid].done():
                self._tasks[uid] = asyncio.get_running_loop().create_task(self._end(item))

    async def _live(self, pod: Json) -> None:
        """A pod from its placing to its end."""
        await asyncio.sleep(0)
        planned = _planned_node(pod)
        is_chosen = planned is None or self._is_held(pod, planned)
        node = await self._chosen_node(pod) if is_chosen else planned
        if node == "":
            return
        found = self.server.store.find("nodes", "", node or "")
        if found is None or misfit(needs_of(pod), facts_of(found)) is not None:
            text = "0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."
            unplaced = {
                **{"type": "PodScheduled", "status": "False"},
                **{"reason": "Unschedulable", "message": text},
            }
            await self._set(pod, conditions=[unplaced])
            await self._event(pod, "FailedScheduling", text, "Warning")
            return
        if not await self._allocated(pod, str(node)):
            return
        pod["spec"]["nodeName"] = node
        placed = {"type": "PodScheduled", "status": "True"}
        await self._set(pod, conditions=[placed], startTime=now_text())
        await self._event(pod, "Scheduled", f"Successfully assigned default/x to {node}")
        if DEMAND in pod["metadata"].get("labels", {}):
            await self._set(pod, phase="Running")  # a placeholder runs nothing
            return
        main = next(c for c in pod["spec"]["containers"] if c["name"] == names.MAIN)
        if main["image"] == IMAGES_THAT_ARE_NOT_THERE:
            for reason, text in PULLS:
                waiting = {"reason": reason, "message": text}
                shown = {
                    "name": main["name"],
                    "image": main["image"],
                    "state": {"waiting": waiting},
                }
                await self._set(pod, containerStatuses=[shown])
            return
        if main["image"] == VOLUMES_THAT_ARE_NOT_THERE:
            text = 'MountVolume.SetUp failed for volume "data": not found'
            await self._event(pod, "FailedMount", text, "Warning")
            return
        if not await self._has_secret(pod):
            await self._end(pod)
            return
        self._mount(pod)
        code, said = await self._run_init(pod)
        if code:
            end = {"terminated": {"exitCode": code, "message": said, "reason": "Error"}}
            name = pod["spec"]["initContainers"][-1]["name"]
            failed = [{"name": name, "image": "x", "state": end}]
            await self._set(pod, phase="Failed", initContainerStatuses=failed)
            return
        await self._run(pod, main)
        meta = pod["metadata"]
        if meta.get("deletionTimestamp") and not meta.get("finalizers"):
            await self.server.store.remove("pods", meta["namespace"], meta["name"])
            await quotas.count(self.server.store, meta["namespace"])

    async def _chosen_node(self, pod: Json) -> str:
        """The node that a scheduler chooses for a pod without a planned one.

        Waits until the pod has no gates and a node has room; empty for a pod that is deleted
        before.
        """
        store, meta = self.server.store, pod["metadata"]

        def is_over() -> bool:
            known = store.find("pods", meta["namespace"], meta["name"])
            return known is None or bool(meta.get("deletionTimestamp"))

        async with store.news:
            await store.news.wait_for(lambda: is_over() or not pod["spec"].get("schedulingGates"))
        while not is_over():
            if node := self._free_node(pod):
                return node
            said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            text = "0 nodes are available: Insufficient cpu."
            await self._set(pod, conditions=[{**said, "message": text}])
            seen = store.version
            async with store.news:
                await store.news.wait_for(lambda: store.version > seen)  # noqa: B023
        return ""

    def _is_held(self, pod: Json, node: str) -> bool:
        """Whether a placeholder keeps a planned pod, which fits but for that, from its node."""
        found = self.server.store.find("nodes", "", node)
        if found is None or misfit(needs_of(pod), facts_of(found)) is not None:
            return False
        on_node = [
            p
            for p in self.server.store.list("pods", None, {})
            if p["spec"].get("nodeName") == node
        ]
        is_held = any(DEMAND in p["metadata"].get("labels", {}) for p in on_node)
        return is_held and self._free_node(pod) == ""

    async def _allocated(self, pod: Json, node: str) -> bool:
        """Wait until all claims of a pod have their devices; false if it is to end before."""
        store, meta = self.server.store, pod["metadata"]
        if self.devices is None or not pod["spec"].get("resourceClaims"):
            return True
        while not _is_to_end(pod) and store.find("pods", meta["namespace"], meta["name"]):
            if await self.devices.allocate(pod, node):
                return True
            said = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
            text = "0/1 nodes are available: 1 cannot allocate all claims."
            if not (pod.get("status") or {}).get("conditions"):
                await self._set(pod, conditions=[{**said, "message": text}])
            seen = store.version
            async with store.news:
                await store.news.wait_for(lambda: store.version > seen)  # noqa: B023
        return False

    def _free_node(self, pod: Json) -> str:
        store = self.server.store
        for node in store.list("nodes", None, {}):
            name = node["metadata"]["name"]
            others = [
                {**requested(p["spec"]), "pods": Decimal(1)}
                for p in store.list("pods", None, {})
                if p["spec"].get("nodeName") == name
                and (p.get("status") or {}).get("phase") not in ("Succeeded", "Failed")
            ]
            if misfit(needs_of(pod), facts_of(node), total(others)) is None:
                return str(name)
        return ""

    async def _has_secret(self, pod: Json) -> bool:
        """Wait for the pod's Secret; false if the pod is to end before."""
        store, meta = self.server.store, pod["metadata"]
        where = ("secrets", meta["namespace"], meta["name"])

        def is_over() -> bool:
            return _is_to_end(pod) or store.find("pods", meta["namespace"], meta["name"]) is None

        async with store.news:
            await store.news.wait_for(lambda: is_over() or store.find(*where) is not None)
        return store.find(*where) is not None and not is_over()

    def _tell_deadline(self, pod: Json) -> None:
        """As kubelet 1.20: the pod has failed at once, and its program ends as it likes.

        What becomes of that is never told, but where the pod is deleted.
        """
        is_killed = pod["spec"].get("activeDeadlineSeconds") is not None
        if is_killed and pod["status"].get("phase") == "Running":
            text = "Pod was active on the node longer than the specified deadline"
            failed = self._set(pod, phase="Failed", reason="DeadlineExceeded", message=text)
            self._tasks[f"{pod['metadata']['uid']} killed"] = (
                asyncio.get_running_loop().create_task(failed)
            )

    async def _end(self, pod: Json) -> None:
        """A pod of which nothing runs is to end."""
        meta = pod["metadata"]
        if self.server.store.find("pods", meta["namespace"], meta["name"]) is None:
            return
        if meta.get("deletionTimestamp") and meta.get("finalizers"):
            has_run = pod["spec"].get("nodeName")
            if has_run and pod["status"]["phase"] not in ("Failed", "Succeeded"):
                await self._set(pod, phase="Failed")
        elif meta.get("deletionTimestamp"):
            await self.server.store.remove("pods", meta["namespace"], meta["name"])
        elif pod["status"]["phase"] == "Pending":
            await self._set(pod, phase="Failed", reason="DeadlineExceeded")

    def _mount(self, pod: Json) -> None:
        """The volumes of a pod, and the file for the reason of its end."""
        home = self._home(pod)
        for directory in ("order", "space/run", "space/harness"):
            (home / directory).mkdir(parents=True)
        (home / "termination-log").touch()
        data = self._secret(pod)
        volume = next(v for v in pod["spec"]["volumes"] if v["name"] == "det-order")
        for item in volume["secret"]["items"]:
            content = data[item["key"]]
            if item["path"] == "variables.json":  # what a pod would have at paths of its own
                values: dict[str, str] = json.loads(content)
                content = json.dumps({k: self._placed(v, pod) for k, v in values.items()}).encode()
            (home / "order" / item["path"]).write_bytes(content)

    async def _run_init(self, pod: Json) -> tuple[int, str]:
        """The last init container, if there is one of the platform."""
        [*_, last] = pod["spec"].get("initContainers") or [{"name": ""}]
        if last["name"] != names.INIT:
            return 0, ""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *(self._placed(word, pod) for word in last["args"]),
            env=self._environment(pod),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        self._processes[pod["metadata"]["uid"]] = process
        await self._tell_start(pod, pod["spec"]["initContainers"][-1])
        said, _ = await process.communicate()
        return process.returncode or 0, said.decode()

    async def _run(self, pod: Json, main: Json) -> None:
        uid = pod["metadata"]["uid"]
        words = [*main["command"], *(a.replace("$$(", "$(") for a in main.get("args") or ())]
        command = [self._placed(word, pod) for word in words]
        if command[0] == "python3":
            command[0] = sys.executable
        log = self.server.logs.setdefault(uid, bytearray())
        process = await asyncio.create_subprocess_exec(
            *command,
            env=self._environment(pod),
            cwd=self._placed(main["workingDir"], pod),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._processes[uid] = process
        running = {"name": names.MAIN, "state": {"running": {"startedAt": now_text()}}}
        await self._set(pod, phase="Running", podIP="127.0.0.1", containerStatuses=[running])
        await self._tell_start(pod, main)
        if _is_to_end(pod):
            _kill(process, signal.SIGTERM)
        assert process.stdout is not None
        async for line in process.stdout:
            stamp = now().strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
            log += stamp.encode() + b" " + line
        code = await process.wait()
        self.server.ended.add(uid)
        note = (self._home(pod) / "termination-log").read_text()
        shutil.rmtree(self._home(pod), ignore_errors=True)
        if pod["status"].get("reason") == "DeadlineExceeded":
            return
        if pod["metadata"].get("deletionTimestamp"):
            # as kubelet 1.20: what ran is removed before anybody could tell how it ended
            self.server.forgotten.add(uid)
            forgotten = {"name": names.MAIN, "state": {"waiting": {"reason": "PodInitializing"}}}
            await self._set(pod, phase="Failed", containerStatuses=[forgotten])
            return
        end = {"exitCode": code if code >= 0 else 128 - code, "finishedAt": now_text()}
        end.update({"message": note} if note else {})
        ended = {"name": names.MAIN, "state": {"terminated": end}}
        phase = "Succeeded" if code == 0 else "Failed"
        await self._set(pod, phase=phase, containerStatuses=[ended])

    async def _tell_start(self, pod: Json, container: Json) -> None:
        """The events of one container: of two with one image some say the same."""
        name = container["name"]
        for reason, text in (
            ("Pulled", f'Container image "{container["image"]}" already present on machine'),
            ("Created", f"Created container {name}"),
            ("Started", f"Started container {name}"),
        ):
            await self._event(pod, f"{reason}.{name}", text)

    async def _set(self, pod: Json, **status: Any) -> None:
        meta = pod["metadata"]
        if self.server.store.find("pods", meta["namespace"], meta["name"]) is pod:
            pod.setdefault("status", {"phase": "Pending"}).update(status)
            await self.server.store.put("pods", pod)
            await quotas.count(self.server.store, meta["namespace"])

    async def _event(self, pod: Json, reason: str, text: str, kind: str = "Normal") -> None:
        meta = pod["metadata"]
        about = {"kind": "Pod", "name": meta["name"], "uid": meta["uid"]}
        event = {
            "metadata": {"name": f"{meta['name']}.{reason}", "namespace": meta["namespace"]},
            "involvedObject": about,
            "reason": reason.partition(".")[0],
            "message": text,
            "type": kind,
            "lastTimestamp": now_text(),
        }
        await self.server.store.put("events", event)

    def _secret(self, pod: Json) -> dict[str, bytes]:
        volume = next(v for v in pod["spec"]["volumes"] if v["name"] == "det-order")
        found = self.server.store.find(
            "secrets", pod["metadata"]["namespace"], volume["secret"]["secretName"]
        )
        assert found is not None
        return {key: base64.b64decode(value) for key, value in found["data"].items()}

    def _environment(self, pod: Json) -> dict[str, str]:
        data = self._secret(pod)
        main = next(c for c in pod["spec"]["containers"] if c["name"] == names.MAIN)
        found = {"PATH": os.environ["PATH"], "HOME": str(self._home(pod))}
        for variable in main["env"]:
            source = variable.get("valueFrom") or {}
            if "fieldRef" in source:
                is_node = source["fieldRef"]["fieldPath"] == "spec.nodeName"
                value = pod["spec"]["nodeName"] if is_node else "127.0.0.1"
            elif "secretKeyRef" in source:
                value = data[source["secretKeyRef"]["key"]].decode()
            else:
                value = variable["value"]
            found[variable["name"]] = self._placed(value, pod)
        return found

    def _placed(self, text: str, pod: Json) -> str:
        home = self._home(pod)
        for path, place in _PLACES.items():
            if text == path or text.startswith(f"{path}/"):
                return str(home / place) + text.removeprefix(path)
        return text.replace("/opt/determined/harness", str(home / "space/harness"))

    def _home(self, pod: Json) -> Path:
        return self.root / str(pod["metadata"]["uid"])


def _planned_node(pod: Json) -> str | None:
    near = (pod["spec"].get("affinity") or {}).get("nodeAffinity")
    if near is None:
        return None
    required = near["requiredDuringSchedulingIgnoredDuringExecution"]
    conditions = required["nodeSelectorTerms"][0].get("matchFields") or ()
    return next((c["values"][0] for c in conditions if c["operator"] == "In"), None)


def _is_to_end(pod: Json) -> bool:
    has_deadline = pod["spec"].get("activeDeadlineSeconds") is not None
    return has_deadline or bool(pod["metadata"].get("deletionTimestamp"))


def _kill(process: asyncio.subprocess.Process, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, number)
