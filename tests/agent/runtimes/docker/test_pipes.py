"""Pipes are opened only if they certainly belong to the container."""

from __future__ import annotations

import os

from determined_agent.runtimes.docker.pipes import OutputPipes, open_pipes


def test_pipes_of_a_process_without_a_shim_are_not_opened() -> None:
    for pid in (os.getpid(), 0, 2**22 + 1):
        assert open_pipes("0123456789ab", pid) is None


def test_the_content_of_a_pipe_is_kept_until_it_is_closed() -> None:
    reader, writer = os.pipe2(os.O_NONBLOCK)
    held = OutputPipes([(1, reader)])
    os.write(writer, b"said")
    assert held.read_rest() == [(1, b"said")]
    assert held.read_rest() == []  # a writer still has it open
    os.write(writer, b"more")
    os.close(writer)
    assert held.read_rest() == [(1, b"more")]
    held.close()
    assert held.read_rest() == []
