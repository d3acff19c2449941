"""Steps that several tests of Docker containers share."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from tests.agent_link import spec, until
from tests.contracts.runtime_contract import RuntimeDriver, lines_of
from tests.docker_daemon import Daemon
from tests.registry import Registry

from determined_agent.container.directory import ContainerDirectory, Exit
from determined_agent.logs.spool_reader import Position, read_chunk
from determined_agent.runtimes.base import Handle, LaunchFailed
from determined_agent.runtimes.docker.runtime import DockerRuntime
from determined_wire.agent_link import ContainerSpec

SLEEP = ("import time", "print('ready', flush=True)", "time.sleep(600)")
UNTIL_GO = "while not __import__('os').path.exists('/tmp/go'): __import__('time').sleep(0.01)"
"""The script continues when the test has touched `inside(docker) / "go"`."""


def counting(pause_s: float) -> ContainerSpec:
    """Return a container that counts until the test lets it end."""
    return spec(
        *("import itertools, os, time", "for i in itertools.count():"),
        *("    print(i, flush=True)", f"    time.sleep({pause_s})"),
        "    if os.path.exists('/tmp/go'): break",
        "print('last')",
    )


def check_counted(lines: list[str]) -> None:
    """Assert that each number occurs once, in order, up to the last line."""
    *numbers, last = lines
    assert last == "last"
    wrong = [i for i, number in enumerate(numbers) if number != str(i)]
    assert not wrong, f"line {wrong[0]} of: {numbers[max(0, wrong[0] - 3) : wrong[0] + 4]}"


def check_kept(lines: list[str], docker: Daemon) -> None:
    """Assert that these are all lines of Docker's log, whose daemon was stopped once.

    A daemon that stops between its read of a pipe and its write of the log loses what it has read:
    usually nothing, sometimes one line or a part of it. No other process can read it again.
    """
    [container] = docker.containers()
    log = docker.root / "data/containers" / container / f"{container}-json.log"
    assert lines == [json.loads(line)["log"].rstrip("\n") for line in log.read_text().splitlines()]
    *counted, last = lines
    assert last == "last"
    numbers = [int(line) for line in counted if line.isdigit()]
    gaps = [pair for pair in pairwise([-1, *numbers]) if pair[1] != pair[0] + 1]
    assert len(gaps) <= 1, gaps


def inside(docker: Daemon) -> Path:
    """Return `/tmp` of the only container while it runs."""
    return Path(f"/proc/{pid_of(docker)}/root/tmp")


def notes_of(directory: ContainerDirectory) -> list[str]:
    """Return the agent's notes in a task's log."""
    chunk, _ = read_chunk(directory.output, Position())
    lines = iter(chunk.text.split("\n"))
    sourced = [(span.source, next(lines)) for span in chunk.spans for _ in range(span.count)]
    return [line for source, line in sourced if source == "agent"]


async def again(made: RuntimeDriver, directory: ContainerDirectory) -> Handle | Exit:
    """Find a container as a restarted agent does."""
    record = directory.record()
    assert record is not None
    found = await made.runtime.attach(directory, record)
    if not isinstance(found, Exit):
        made.handles.append(found)
    return found


def let_go(made: RuntimeDriver, handle: Handle) -> None:
    handle.detach()
    made.handles.remove(handle)


def has_noted(directory: ContainerDirectory, text: str) -> bool:
    return any(text in note for note in notes_of(directory))


def said_by_itself(directory: ContainerDirectory, end: Exit) -> list[str]:
    """Return all lines of a task without the agent's notes."""
    notes = notes_of(directory)
    return [line for line in lines_of(directory, end) if line not in notes]


def pid_of(docker: Daemon) -> int:
    """Return the id of the first process of the only container."""
    return int(docker.run("inspect", "-f", "{{.State.Pid}}", *docker.containers()))


async def half_pulled(driver: RuntimeDriver, images: Registry) -> asyncio.Task[Any]:
    """Start a launch that is pulling its image; the registry withholds the rest."""
    directory, start = driver.make(spec("pass", image=images.image))
    launch = driver.runtime.launch(directory, start, driver.states.append)
    launching = asyncio.create_task(launch)
    await until(lambda: images.pulls == 1)
    return launching


async def check_pulled(driver: RuntimeDriver, images: Registry) -> None:
    """Assert that the image is pulled now; it only lacks Python."""
    with pytest.raises(LaunchFailed, match="needs Python"):
        await driver.launch(spec("pass", image=images.image))


@contextlib.contextmanager
def impatient(driver: RuntimeDriver, answer_s: float = 0.3) -> Iterator[None]:
    """Use a short timeout while the daemon hangs, and the usual one before and after."""
    assert isinstance(driver.runtime, DockerRuntime)
    api = driver.runtime._api
    usual_s, api._answer_s = api._answer_s, answer_s
    try:
        yield
    finally:
        api._answer_s = usual_s
