"""A notebook task: JupyterLab behind the master's proxy.

Source: task-contract 7.2.
"""

from __future__ import annotations

import json
import os
import threading
from typing import Any, Dict, MutableMapping

from determined._constants import run_dir
from determined.common.api._session import BaseSession
from determined.exec._log import EntryFailed, log
from determined.exec._servers.notebook_activity import (
    IdleCheck,
    IdleReports,
    NotebookServer,
    watch,
)
from determined.exec._servers.programs import find_module
from determined.exec._servers.server_process import report_ready, serve

LOOK_S = 0.5
LOG_FORMAT = "%(levelname)s: [%(name)s] %(message)s"
CERTIFICATE, KEY = "jupyterCert.pem", "jupyterKey.key"


def run(session: BaseSession, env: MutableMapping[str, str]) -> int:
    """Serve until the task ends; return the server's exit code.

    Args:
        session: the task's session.
        env: the task's environment; the server's variables are added.

    Raises:
        EntryFailed: JupyterLab is not installed, or a variable or file of the master is missing.
    """
    port, task_id, token = _number(env, "NOTEBOOK_PORT"), env["DET_TASK_ID"], _token(env)
    check = IdleCheck(env.get("NOTEBOOK_IDLE_TYPE") or "kernels_or_terminals")
    command = find_module("jupyterlab", "jupyter-lab", env)
    prepare(env, port, token)
    server = NotebookServer(port, base_path(task_id), token)

    def wait_until_up(ended: threading.Event) -> None:
        while not ended.wait(LOOK_S):
            if server.is_up():
                log(f"JupyterLab is ready on port {port}")
                report_ready(session, env)
                watch(server, check, IdleReports(session, task_id), ended)
                return

    return serve(command, env, wait_until_up).log_unexpected("JupyterLab")


def base_path(task_id: str) -> str:
    """The path prefix of the server, the same behind the proxy."""
    return f"/proxy/{task_id}"


def prepare(env: MutableMapping[str, str], port: int, token: str) -> None:
    """Write the server's configuration, and set the variables that point to it.

    Raises:
        EntryFailed: its certificate is missing.
    """
    root = os.path.join(run_dir(), "jupyter")
    for name in (CERTIFICATE, KEY):
        path = os.path.join(root, name)
        if not os.path.isfile(path):
            raise EntryFailed(f"the notebook's {path} is missing; the master must provide it")
    for variable, name in (
        ("JUPYTER_CONFIG_DIR", "config"),
        ("JUPYTER_DATA_DIR", "data"),
        ("JUPYTER_RUNTIME_DIR", "runtime"),
    ):
        env[variable] = os.path.join(root, name)
        os.makedirs(env[variable], mode=0o700, exist_ok=True)
    env["JUPYTER_TOKEN"] = token  # all versions read it; not visible in process lists
    if os.path.exists("/bin/bash"):
        env.setdefault("SHELL", "/bin/bash")  # the shell of its terminals
    config = configuration(root, base_path(env["DET_TASK_ID"]), port, os.getcwd())
    path = os.path.join(env["JUPYTER_CONFIG_DIR"], "jupyter_server_config.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file, indent=1)


def configuration(root: str, base: str, port: int, directory: str) -> Dict[str, Any]:
    """The server's configuration.

    Args:
        root: the directory of the server's files.
        base: the path prefix that the proxy forwards.
        port: the port to listen on, on all addresses.
        directory: the start directory; users can browse all files of the container.
    """
    is_hidden = any(part.startswith(".") for part in directory.split("/"))
    return {
        "Application": {"log_format": LOG_FORMAT},
        "ServerApp": {
            "allow_origin": "*",
            "allow_remote_access": True,
            "allow_root": True,
            "base_url": f"{base}/",
            "certfile": os.path.join(root, CERTIFICATE),
            "ip": "*",
            "keyfile": os.path.join(root, KEY),
            "log_format": LOG_FORMAT,
            "open_browser": False,
            "port": port,
            "port_retries": 0,
            "root_dir": "/",
            "trust_xheaders": True,
        },
        "ContentsManager": {"allow_hidden": is_hidden, "preferred_dir": directory.lstrip("/")},
    }


def _token(env: MutableMapping[str, str]) -> str:
    token = env.get("DET_NOTEBOOK_TOKEN")
    if not token:
        raise EntryFailed("the variable DET_NOTEBOOK_TOKEN is not set; the master must set it", 2)
    return token


def _number(env: MutableMapping[str, str], name: str) -> int:
    value = env.get(name, "")
    if not value.isdigit():
        raise EntryFailed(f"the variable {name} must be a port, got {value!r}", 2)
    return int(value)
