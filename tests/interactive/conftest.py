"""Interactive tasks as an agent starts them, with real servers, against a double of the master."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.environments import NotInstalled, environment
from tests.free_ports import free_port
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble, until
from tests.interactive.contained import Container

from determined_master.services.containers.interactive_specs import (
    TaskSecrets,
    TaskToStart,
    spec_of,
)

RUN_DIR = "/run/determined"
TOOLS = (
    *("jupyterlab==4.4.*", "pandas", "tensorboard==2.20.*"),
    *("obstore>=0.8", "ruamel.yaml", "setuptools<81"),
)
END_S = 30.0


@pytest.fixture(scope="session")
def tools() -> str:
    """An interpreter that has JupyterLab, a kernel and TensorBoard."""
    try:
        return install_tools()
    except NotInstalled as reason:
        pytest.skip(f"JupyterLab and TensorBoard cannot be installed: {reason}")


def install_tools() -> str:
    """That interpreter, installed once. Raises NotInstalled: the packages cannot be had here."""
    probe = ["-c", "import jupyterlab, ipykernel, pandas, tensorboard, obstore"]
    return str(environment("tools", TOOLS, probe))


@pytest.fixture
def master() -> Iterator[MasterDouble]:
    with MasterDouble() as double:
        double.on("POST", "/waiting$", (200, {}))
        double.on("PUT", "/report_idle$", (200, {}))
        yield double


class Running:
    """A started task, and what it has written so far."""

    def __init__(self, process: subprocess.Popen[bytes], task: Task, port: int, log: Path) -> None:
        self.process = process
        self.task = task
        self.port = port
        self._log = log

    @property
    def text(self) -> str:
        return self._log.read_text(errors="replace")

    def wait_for(self, condition: Callable[[], Any], what: str, deadline_s: float = 60) -> Any:
        """Poll until a condition holds; the task must not end meanwhile."""

        def look() -> Any:
            found = condition()
            assert found or self.process.poll() is None, self.text
            return found

        try:
            return until(look, what, deadline_s)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.text}") from None

    def end(self) -> int:
        """Tell it to end as the master does; its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(END_S)


class Starter:
    """Starts interactive tasks; ends what is left of them."""

    def __init__(
        self, master: MasterDouble, root: Path, container: Container | None = None
    ) -> None:
        self.task = Task(master.url, root)
        self._container = container
        if container is not None:
            container.run_dir.mkdir(mode=0o700)
            self.task.env["DET_RUN_DIR"] = RUN_DIR
            self.task.env["DET_WORKDIR"] = f"{RUN_DIR}/workdir"
        self.started: list[subprocess.Popen[bytes]] = []
        for name in list(self.task.env):
            if name.startswith(("DET_TRIAL", "DET_EXPERIMENT", "DET_HPARAMS", "DET_STEPS")):
                del self.task.env[name]

    def __call__(
        self,
        kind: Any,
        python: list[str],
        secrets: TaskSecrets = TaskSecrets(),  # noqa: B008  # frozen
        **changes: Any,
    ) -> Running:
        """Put a task's files in place as an agent does, and start its program.

        Args:
            kind: COMMAND, NOTEBOOK, SHELL or TENSORBOARD.
            python: the interpreter with its own arguments.
            secrets: those of the task.
            changes: of its configuration; `sources` are what a TensorBoard shows, `env` is added
                to the environment.
        """
        task, port = self.task, free_port()
        env, sources = changes.pop("env", {}), changes.pop("sources", ())
        config = {"environment": {}, "notebook_idle_type": "kernels_or_terminals", **changes}
        own = "tensorboard_args" if kind == "TENSORBOARD" else "entrypoint"
        whole = TaskToStart(
            kind=kind,
            task_id="1.abc",
            config=config,
            arguments=config.get(own) or (),
            idle_type=config.get("notebook_idle_type") or "",
            port=port,
            sources=sources,
        )
        spec = spec_of(whole, secrets, "cpu")
        for file in spec.files:
            path = Path(self.placed(file.path))
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            path.write_bytes(file.content)
            path.chmod(file.mode)
        variables = {name: self.placed(value) for name, value in spec.environment.items()}
        command = [*python, *map(self.placed, spec.entrypoint[1:])]
        if self._container is not None:
            self._container.settle()
            command = self._container.command(*command)
            variables = spec.environment
        log = task.root / "log"
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                env={**task.env, "DET_TASK_TYPE": kind, **variables, **env},
                cwd=task.root,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(process)
        return Running(process, task, port, log)

    def placed(self, text: str) -> str:
        if text == RUN_DIR or text.startswith(f"{RUN_DIR}/"):
            return f"{self.task.run_dir}{text[len(RUN_DIR) :]}"
        return text

    def close(self) -> None:
        for process in self.started:
            if process.poll() is None:
                process.terminate()
                try:
                    process.wait(END_S)
                except subprocess.TimeoutExpired:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.wait(END_S)


@pytest.fixture
def start(master: MasterDouble, tmp_path: Path) -> Iterator[Starter]:
    starter = Starter(master, tmp_path)
    yield starter
    starter.close()


def patched(folder: Path, python: list[str], *statements: str) -> list[str]:
    """An interpreter as `Starter` takes it, for a harness whose constants are changed first.

    Args:
        folder: where to put the script.
        python: the interpreter with its own arguments.
        statements: run in the order given, before the entry.
    """
    lines = [*statements, "import runpy, sys", "sys.argv = ['entry', *sys.argv[3:]]"]
    lines.append("runpy.run_module('determined.exec.entry', run_name='__main__')")
    script = folder / "patched.py"
    script.write_text("\n".join(lines))
    return [*python, str(script)]
