"""The apptainer runtime: its command line, and the contract where Apptainer is installed."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import spec
from tests.contracts.runtime_contract import RuntimeContract, RuntimeDriver, lines_of
from tests.covers import covers

from determined_agent.container.environment import ContainerStart, MasterIdentity
from determined_agent.runtimes.apptainer.command_line import (
    command,
    environment,
    ignored_options,
)
from determined_agent.runtimes.apptainer.runtime import ApptainerRuntime
from determined_agent.runtimes.base import LaunchFailed, RuntimeUnavailable
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Device, File, Mount, RegistryAuth

IMAGE = "python:3.11-slim"


def start(*devices: Device, **overrides: Any) -> ContainerStart:
    return ContainerStart(
        container_id="c-1",
        devices=devices,
        spec=spec("pass", **{"image": IMAGE, **overrides}),
        master=MasterIdentity(master_id="m", cluster_id="k"),
    )


def settings(**overrides: Any) -> Settings:
    values = {"master_host": "master", "master_port": 8080, "agent_id": "agent-1"}
    return Settings(**{**values, **overrides})


def pairs(words: list[str], option: str) -> list[str]:
    return [words[at + 1] for at, word in enumerate(words) if word == option]


def test_files_and_harness_are_bound_and_the_work_dir_is_set() -> None:
    what = start(mounts=(Mount("/data", "/in", True),))
    words = command(
        "/bin/apptainer", what, "/host/run", {"determined": "/lib/determined"}, "/images/a.sif"
    )
    assert words[:2] == ["/bin/apptainer", "exec"]
    assert pairs(words, "--pwd") == ["/run/determined/workdir"]
    assert pairs(words, "--bind") == [
        "/host/run:/run/determined",
        "/host/run/tmp:/tmp",
        "/lib/determined:/opt/determined/harness/determined:ro",
        "/data:/in:ro",
    ]
    assert words[-4:] == ["/images/a.sif", "python3", "-c", "pass"]
    assert "--nv" not in words


def test_gpus_and_capabilities_are_passed_on() -> None:
    gpus = (Device(0, "b", "GPU-a", "cuda"), Device(1, "b", "GPU-b", "cuda"))
    what = start(*gpus, add_capabilities=("NET_ADMIN", "MKNOD"))
    words = command("apptainer", what, "/r", {}, "a")
    assert "--nv" in words
    assert pairs(words, "--add-caps") == ["NET_ADMIN,MKNOD"]
    inside = environment(what, settings(), {})
    assert inside["APPTAINERENV_CUDA_VISIBLE_DEVICES"] == "GPU-a,GPU-b"


def test_task_and_command_have_separate_variables() -> None:
    auth = RegistryAuth("me", "secret")
    what = start(environment={"MINE": "1"}, registry_auth=auth, force_pull_image=True)
    env = environment(what, settings(), {"PATH": "/p", "SECRET_OF_THE_AGENT": "x"})
    assert env["APPTAINERENV_MINE"] == "1"
    assert env["APPTAINERENV_PYTHONPATH"] == "/opt/determined/harness"
    assert env["APPTAINERENV_DET_AGENT_ID"] == "agent-1"
    assert env["DET_CONTAINER_ID"] == "c-1"
    assert (env["APPTAINER_DOCKER_USERNAME"], env["APPTAINER_DISABLE_CACHE"]) == ("me", "true")
    assert "SECRET_OF_THE_AGENT" not in env


def test_ignored_options_are_listed() -> None:
    what = start(devices=("/dev/a:/dev/a",), files=(File("/etc/ssh/ssh_config", b""),))
    assert ignored_options(what) == [
        "resources.devices",
        "the network mode (containers use the machine's)",
        "the file /etc/ssh/ssh_config",
    ]


async def test_without_the_program_the_agent_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeUnavailable, match="install Apptainer"):
        await ApptainerRuntime(settings(), tmp_path).check()


RECORDER = """#!/bin/sh
printf '%s\\n' "$@" > "$0.arguments"
"""


@pytest.fixture
async def recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[RuntimeDriver]:
    """A fake Apptainer that records its arguments."""
    program = tmp_path / "bin" / "apptainer"
    program.parent.mkdir()
    program.write_text(RECORDER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "team+base+2.sqsh").touch()
    root = tmp_path / "agent-1"
    root.mkdir()
    own = settings(container_runtime="apptainer", apptainer_image_root=str(tmp_path / "images"))
    made = RuntimeDriver(ApptainerRuntime(own, root), root)
    yield made
    await made.clean_up()


@covers("experiment-config 12.hpc_images")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("image", "asked"),
    [
        ("a/b:1", "docker://a/b:1"),
        ("oras://host/a", "oras://host/a"),
        ("team/base:2", "{images}/team+base+2.sqsh"),
    ],
)
async def test_apptainer_gets_the_image_in_its_own_form(
    recorded: RuntimeDriver, tmp_path: Path, image: str, asked: str
) -> None:
    _, handle = await recorded.launch(spec("pass", image=image))
    assert (await asyncio.wait_for(handle.wait(), 60)).exit_code == 0
    words = (tmp_path / "bin" / "apptainer.arguments").read_text().splitlines()
    assert words[0] == "exec"
    at = words.index(asked.format(images=tmp_path / "images"))
    assert words[at + 1 :][:2] == ["python3", "-c"]


@covers("experiment-config 12.hpc_images")
@pytest.mark.parametrize(
    ("image", "error"),
    [
        ("containers-storage:a", "container_runtime apptainer does not support this form"),
        ("none.sif", "apptainer_image_root"),
        ("", "the task names no image"),
    ],
)
async def test_an_unsupported_image_is_a_task_error(
    recorded: RuntimeDriver, image: str, error: str
) -> None:
    with pytest.raises(LaunchFailed, match=error) as caught:
        await recorded.launch(spec("pass", image=image))
    assert caught.value.failure.type == "task_error"


@pytest.fixture
async def driver(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[RuntimeDriver]:
    if shutil.which("apptainer") is None:
        pytest.skip("apptainer is not installed")
    tree: Path = request.getfixturevalue("debian_tree")
    root = tmp_path / "agent-1"
    root.mkdir()
    made = RuntimeDriver(ApptainerRuntime(settings(work_dir=str(tmp_path)), root), root)
    made.defaults = {"image": str(tree), "network_mode": "host"}
    yield made
    await made.clean_up()


@pytest.mark.slow
@pytest.mark.docker
@pytest.mark.xdist_group("docker")
class TestApptainerRuntime(RuntimeContract):
    async def test_a_missing_program_is_a_task_error(self, driver: RuntimeDriver) -> None:
        """Apptainer itself starts, and reports the error in the task's log."""
        directory, handle = await driver.launch(spec(entrypoint=("/no/such/program",)))
        end = await asyncio.wait_for(handle.wait(), 60)
        assert end.failure is not None
        assert (end.failure.type, end.exit_code) == ("container_failed", 255)
        assert "/no/such/program" in "".join(lines_of(directory, end))
