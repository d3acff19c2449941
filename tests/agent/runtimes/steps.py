"""What tests of containers do again and again."""

from __future__ import annotations

from tests.agent_link import spec
from tests.contracts.runtime_contract import Workshop

from determined_agent.directory import ContainerDirectory, Exit
from determined_agent.output import Position, read_chunk
from determined_agent.runtimes.base import Handle
from determined_wire.agent_link import ContainerSpec

COUNTS = (
    "import sys, time",
    "for i in range({}):",
    "    print(i, flush=True)",
    "    time.sleep({})",
)


def counting(numbers: int, pause_s: float) -> ContainerSpec:
    return spec("\n".join(COUNTS).format(numbers, pause_s))


def notes_of(directory: ContainerDirectory) -> list[str]:
    """What the agent itself has written into a task's log."""
    chunk, _ = read_chunk(directory.output, Position())
    lines = iter(chunk.text.split("\n"))
    told = [(span.source, next(lines)) for span in chunk.spans for _ in range(span.count)]
    return [line for source, line in told if source == "agent"]


async def again(made: Workshop, directory: ContainerDirectory) -> Handle | Exit:
    """Find a container as an agent does that was started anew."""
    record = directory.record()
    assert record is not None
    found = await made.runtime.attach(directory, record)
    if not isinstance(found, Exit):
        made.handles.append(found)
    return found


def let_go(made: Workshop, handle: Handle) -> None:
    handle.detach()
    made.handles.remove(handle)
