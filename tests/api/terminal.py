"""A client's side of a terminal, a shell of the master, and a real ssh server in its place."""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.api.client import Client
from tests.api.proxy.proxied import Task, run_task
from tests.api.updates.live_client import LiveSocket
from tests.free_ports import free_port
from tests.harness.master_double import until

from determined_master.api.app import Api
from determined_master.domain.task.ssh_files import KeyPair, shell_files
from determined_master.domain.task.terminal import TerminalSize
from determined_master.services.catalog import Services

RUN_DIR = "/run/determined"
ACCOUNT = pwd.getpwuid(os.getuid()).pw_name
SIZE = TerminalSize(80, 24)
SEARCH = os.pathsep.join([os.environ["PATH"], "/usr/sbin"])


def path_of(shell_id: str) -> str:
    return f"/api/ui/v1/shells/{shell_id}/terminal"


class TerminalSocket(LiveSocket):
    """One WebSocket of a terminal."""

    def __init__(
        self, api: Api, token: str, shell_id: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(api, token, headers, path_of(shell_id))
        self.text = ""
        """Output that no wait has used."""

    def resize(self, size: TerminalSize) -> None:
        self.send({"columns": size.columns, "rows": size.rows})

    def type(self, text: str) -> None:
        self.send_bytes(text.encode())

    async def shows(self, words: str) -> str:
        """Wait for words in the output; all output up to them."""
        return await self.matches(f"(?s)(.*?{re.escape(words)})")

    async def matches(self, pattern: str) -> str:
        """Wait for a match of a pattern in the output; its first group."""
        while not (match := re.search(pattern, self.text)):
            event = await self.event()
            assert event["type"] == "websocket.send", (event, self.text)
            self.text += event["bytes"].decode(errors="replace")
        self.text = self.text[match.end() :]
        return match[1]

    async def end(self) -> tuple[int, str]:
        """Code and reason of the close, which comes after all output."""
        reason = ""
        while (event := await self.event())["type"] == "websocket.send":
            if event.get("text"):
                reason = json.loads(event["text"])["reason"]
        assert event["type"] == "websocket.close", event
        return event["code"], reason

    async def refusal(self) -> tuple[int, str]:
        """Status and text of a refused handshake, or code and reason of a close before output."""
        event = await self.event()
        if event["type"] == "websocket.http.response.start":
            body = await self.event()
            return event["status"], body["body"].decode()
        assert event["type"] == "websocket.accept", event
        reason = await self.event()
        assert "text" in reason, "the terminal is open"
        return (await self.event())["code"], json.loads(reason["text"])["reason"]


@contextlib.asynccontextmanager
async def terminal(api: Api, token: str, shell_id: str, size: TerminalSize = SIZE):
    """A terminal that the master has accepted; the client leaves, also when its test fails."""
    socket = TerminalSocket(api, token, shell_id)
    try:
        assert (await socket.event())["type"] == "websocket.accept"
        socket.resize(size)
        yield socket
    finally:
        await socket.leave()


async def launch(client: Client) -> str:
    """The id of a shell of this client, which no agent runs."""
    body = {"config": {"resources": {"slots": 0}}}
    answer = await client("POST", "/api/v1/shells", body)
    return str(answer.json()["shell"]["id"])


def run_shell(services: Services, shell_id: str, port: int) -> Task:
    """Let a launched shell run, with its ssh server at a port of this machine."""
    task = run_task(services, port, task_type="SHELL", is_tcp=True, is_default=True)
    task.end()
    request = replace(task.state.request, task_id=shell_id)
    task.become(id=f"{shell_id}.1", state="RUNNING", request=request)
    return task


def needs_sshd() -> None:
    if not shutil.which("sshd", path=SEARCH):
        pytest.skip("there is no sshd here (Debian's package openssh-server)")


@contextlib.contextmanager
def ssh_server(keys: KeyPair, folder: Path, *options: str) -> Iterator[int]:
    """OpenSSH's server with the files of a shell, which lets in the user of the tests; its port.

    Args:
        keys: of the shell.
        folder: for its files.
        options: lines that come first in its configuration.
    """
    needs_sshd()
    if os.getuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)
    for file in shell_files(keys):
        text = file.content.decode().replace(RUN_DIR, str(folder))
        path = Path(file.path.replace(RUN_DIR, str(folder)))
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.touch(mode=file.mode)
        path.write_text(text)
    ssh = folder / "ssh"
    (ssh / "authorized_keys").write_bytes(keys.public)
    config = ssh / "sshd_config"
    own = "\n".join(["StrictModes no", *options])
    config.write_text(f"{own}\n{config.read_text()}")
    port, server = free_port(), str(shutil.which("sshd", path=SEARCH))
    with (ssh / "log").open("w+") as log:
        command = [server, "-f", str(config), "-p", str(port), "-D", "-e"]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=log, stdout=log)
        try:
            _wait_until_it_listens(process, ssh / "log")
            yield port
        finally:
            process.terminate()
            process.wait(60)


def _wait_until_it_listens(process: subprocess.Popen[bytes], log: Path) -> None:
    def listens() -> bool:
        assert process.poll() is None, log.read_text()
        return "Server listening" in log.read_text()

    until(listens, "the ssh server listens")
