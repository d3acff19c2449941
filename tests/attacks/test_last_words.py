"""Output of a task that fails, which the master reads on its event loop for the cause."""

from __future__ import annotations

import time

import pytest

from determined_master.domain.task.cause import MAX_FILE, MAX_SENTENCE, sentence
from determined_master.domain.task.tracebacks import TailLine, read_cause
from determined_master.store.logs.task_logs import TAIL_CHARACTERS, TAIL_LINES

MAX_STALL_S = 0.05
HEADER = "Traceback (most recent call last):"
FRAME = ' File "a", line 1'
TEXTS = {
    "slashes": ["/" * TAIL_CHARACTERS] * TAIL_LINES,
    "directories": ["/a" * (TAIL_CHARACTERS // 2)] * TAIL_LINES,
    "half of a work directory": ["/run" * (TAIL_CHARACTERS // 4)] * TAIL_LINES,
    "dotted names": [HEADER, FRAME, *["a." * (TAIL_CHARACTERS // 2 - 1) + "!"] * 490],
    "margins of groups": [f"| {HEADER}", *["| |" * (TAIL_CHARACTERS // 3)] * 499],
    "frames": [HEADER, *[' File "' + ', line 1"' * 120] * 499],
    "escapes": [HEADER, FRAME, "E: " + "\x1b[" * 490, *["  " + "\x1b[0;" * 240] * 20],
}


@pytest.mark.parametrize("name", TEXTS)
def test_no_output_holds_the_loop_or_grows_a_sentence(name: str) -> None:
    lines = [TailLine(id, text, is_error=True) for id, text in enumerate(TEXTS[name])]
    since_s = time.process_time()
    cause = read_cause(lines, 1)
    assert time.process_time() - since_s < MAX_STALL_S
    words = sentence(cause)
    assert len(words) <= MAX_SENTENCE + MAX_FILE + 20
    assert words.isprintable()
