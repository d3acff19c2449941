"""Runs tasks in Apptainer containers, as a command under the shim."""

from __future__ import annotations

import os
import shutil

from determined_agent.container.directory import ContainerDirectory
from determined_agent.container.environment import ContainerStart, to_host_path
from determined_agent.runtimes.apptainer import command_line
from determined_agent.runtimes.base import RuntimeUnavailable
from determined_agent.runtimes.harness import locate_harness
from determined_agent.runtimes.image_forms import apptainer_source
from determined_agent.runtimes.process.runtime import ProcessRuntime, TaskCommand
from determined_agent.runtimes.task_files import make_dirs
from determined_wire.agent_link import TaskUser

PROGRAM = "apptainer"


class ApptainerRuntime(ProcessRuntime):
    """Runs each task as an Apptainer command under its own shim."""

    name = "apptainer"

    async def check(self) -> None:
        await super().check()
        if shutil.which(PROGRAM) is None:
            raise RuntimeUnavailable(
                f"container_runtime 'apptainer': there is no program '{PROGRAM}' on the agent's "
                "PATH: install Apptainer, or choose another container_runtime"
            )

    def _account_problem(self, start: ContainerStart) -> str:
        return ""  # tasks run the Python of their image

    def _ignored(self, start: ContainerStart) -> str:
        ignored = command_line.ignored_options(start)
        return f"the apptainer runtime ignores {', '.join(ignored)}" if ignored else ""

    def _command(
        self, directory: ContainerDirectory, start: ContainerStart, user: TaskUser | None
    ) -> TaskCommand:
        run_dir = str(directory.run_dir)
        make_dirs(f"{run_dir}/tmp", 0o700, user)
        program = shutil.which(PROGRAM) or PROGRAM
        if not start.spec.image:
            raise ValueError("the task names no image: set environment.image")
        root = self._settings.apptainer_image_root
        source = apptainer_source(start.spec.image, root, os.path.exists)
        argv = command_line.command(program, start, run_dir, locate_harness(), source)
        env = command_line.environment(start, self._settings, os.environ)
        cwd = to_host_path("/run/determined", run_dir)
        return TaskCommand(cwd=cwd, argv=argv, env=env, is_relay=True)
