"""Notebooks with a real JupyterLab and a real kernel."""

from __future__ import annotations

import json
import sys
import urllib.error
import urllib.request
import uuid
from pathlib import Path
from typing import Any

import pytest
from tests.covers import covers
from tests.harness.master_double import MasterDouble
from tests.interactive.conftest import Running, Starter, patched
from websockets.sync.client import connect

from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.containers.cluster_authority import ClusterAuthority
from determined_master.services.containers.interactive_specs import TaskSecrets

pytestmark = [pytest.mark.slow, pytest.mark.e2e]
AUTHORITY = ClusterAuthority(TaskTokens(b"s" * 32))
ISSUED = AUTHORITY.issue("1.abc")
SECRETS = TaskSecrets(
    notebook_token="notebook-token",
    certificate=ISSUED.certificate,
    certificate_key=ISSUED.key,
)
OFTEN = "from determined.exec._servers import notebook_activity as a; a.CHECK_S = 0.2"


class Notebook:
    """What a user's browser does, as the proxy passes it on."""

    def __init__(self, running: Running) -> None:
        self.running = running
        self.base = f"127.0.0.1:{running.port}/proxy/1.abc"
        self.context = AUTHORITY.client_context
        self.context.check_hostname = False  # as the proxy, it knows the address

    def call(self, method: str, path: str, body: Any = None, token: str = "notebook-token") -> Any:
        """What the server answers."""
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(f"https://{self.base}{path}", data, method=method)
        asked.add_header("Authorization", f"token {token}")
        with urllib.request.urlopen(asked, timeout=30, context=self.context) as answer:
            content = answer.read()
        return json.loads(content) if content.startswith((b"{", b"[")) else content

    def run(self, kernel: str, code: str) -> str:
        """What a kernel prints."""
        address = f"wss://{self.base}/api/kernels/{kernel}/channels?token=notebook-token"
        header = {"msg_id": uuid.uuid4().hex, "msg_type": "execute_request", "version": "5.3"}
        header.update(username="", session=uuid.uuid4().hex, date="2026-01-01T00:00:00Z")
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        printed = ""
        with connect(address, ssl=self.context, open_timeout=30) as socket:
            socket.send(json.dumps({**message, "channel": "shell", "buffers": []}))
            while True:
                got = json.loads(socket.recv(timeout=60))
                if got["parent_header"].get("msg_id") != header["msg_id"]:
                    continue
                if got["msg_type"] == "stream":
                    printed += got["content"]["text"]
                if got["msg_type"] == "error":
                    raise AssertionError(got["content"])
                if got["msg_type"] == "status" and got["content"]["execution_state"] == "idle":
                    return printed


@covers("task-contract 3.1.notebook 3.8.notebook 7.2.base 7.2.start 7.2.log 7.2.report")
def test_a_notebook_serves_its_user_and_says_when_it_is_idle(
    start: Starter, master: MasterDouble, tools: str, tmp_path: Path
) -> None:
    master.serve_files({"mine.txt": "content"})
    running = start("NOTEBOOK", patched(tmp_path, [tools], OFTEN), SECRETS)
    running.wait_for(lambda: master.named("POST", "/1.abc.1/ready"), "it is ready", 120)
    notebook = Notebook(running)

    page = notebook.call("GET", "/lab")
    assert b"/proxy/1.abc/" in page
    with pytest.raises(urllib.error.HTTPError, match="403"):
        notebook.call("GET", "/api/kernels", token="another")
    directory = str(running.task.work_dir)
    listed = notebook.call("GET", f"/api/contents{directory}")
    assert {item["name"] for item in listed["content"]} == {"README.ipynb", "mine.txt"}

    def last_report() -> Any:
        calls = master.named("PUT", "/api/v1/notebooks/1.abc/report_idle")
        return calls[-1].body if calls else None

    idle, used = ({"notebookId": "1.abc", "idle": value} for value in (True, False))
    running.wait_for(lambda: last_report() == idle, "it is idle")
    kernel = notebook.call("POST", "/api/kernels", {"name": "python3"})["id"]
    running.wait_for(lambda: last_report() == used, "it is used")
    code = "import os, determined; print(os.environ['DET_TASK_ID'], os.getcwd(), 6 * 7)"
    assert notebook.run(kernel, code).split() == ["1.abc", directory, "42"]
    notebook.call("DELETE", f"/api/kernels/{kernel}")
    running.wait_for(lambda: last_report() == idle, "it is idle again")

    assert "notebook-token" not in running.text
    assert "INFO: [ServerApp]" in running.text
    assert running.end() in (0, 128 + 15)


def test_without_jupyterlab_the_log_names_the_remedy(start: Starter) -> None:
    running = start("NOTEBOOK", [sys.executable, "-S"], SECRETS, env={"PATH": "/nowhere"})
    assert running.process.wait(60) == 127
    assert "pip install jupyterlab" in running.text
    assert "Traceback" not in running.text


def test_a_type_of_idleness_that_is_none_is_named(start: Starter) -> None:
    running = start("NOTEBOOK", [sys.executable, "-S"], SECRETS, notebook_idle_type="mouse")
    assert running.process.wait(60) == 2
    assert "'mouse' must be one of kernels_or_terminals" in running.text
