"""The cause of a failure, read from the last lines of a task."""

from __future__ import annotations

import pytest

from determined_master.domain.task.cause import (
    MAX_MESSAGE,
    MAX_SENTENCE,
    FailureCause,
    killed_for_memory,
    plain,
    sentence,
)
from determined_master.domain.task.tracebacks import TailLine, read_cause

RUN = "/var/agents/a/c/run/workdir"
RAISED = f"""\
Traceback (most recent call last):
  File "{RUN}/train.py", line 52, in <module>
    main()
  File "{RUN}/train.py", line 40, in main
    return batch.shape
           ^^^^^^^^^^^
AttributeError: 'NoneType' object has no attribute 'shape'
"""
OTHER = RAISED.replace("line 40", "line 7").replace("AttributeError: 'NoneType'", "KeyError: 'x'")


def lines(text: str, rank: int | None = None, first: int = 1) -> list[TailLine]:
    """All of it written to stderr."""
    texts = enumerate(text.splitlines(), first)
    return [TailLine(id=n, text=line, is_error=True, rank=rank) for n, line in texts]


def said(text: str, exit_code: int = 1) -> str:
    return sentence(read_cause(lines(text), exit_code))


def test_an_exception_is_named_with_its_message_and_its_place() -> None:
    cause = read_cause(lines(RAISED), 1)
    assert cause == FailureCause(
        kind="exception",
        type="AttributeError",
        message="'NoneType' object has no attribute 'shape'",
        file="train.py",
        line=40,
        log_position=7,
        exit_code=1,
    )
    assert (
        sentence(cause)
        == "AttributeError: 'NoneType' object has no attribute 'shape' · train.py:40"
    )


@pytest.mark.parametrize(
    "between",
    [
        "\nDuring handling of the above exception, another exception occurred:\n\n",
        "\nThe above exception was the direct cause of the following exception:\n\n",
    ],
)
def test_of_chained_exceptions_the_last_one_raised_is_the_cause(between: str) -> None:
    assert said(RAISED + between + OTHER).startswith("KeyError: 'x'")


def test_the_place_is_in_the_users_code_and_not_in_a_package_below_it() -> None:
    text = f"""\
Traceback (most recent call last):
  File "{RUN}/pkg/data.py", line 3, in load
    torch.load(path)
  File "/opt/conda/lib/python3.10/site-packages/torch/serialization.py", line 99, in load
    raise RuntimeError("no file")
  File "<frozen importlib._bootstrap>", line 241, in x
RuntimeError: no file
"""
    assert said(text) == "RuntimeError: no file · pkg/data.py:3"


def test_a_place_outside_of_the_users_code_is_better_than_none() -> None:
    text = """\
Traceback (most recent call last):
  File "/usr/lib/python3.11/runpy.py", line 88, in _run_code
ModuleNotFoundError: No module named 'torch'
"""
    assert (
        said(text)
        == "ModuleNotFoundError: No module named 'torch' · /usr/lib/python3.11/runpy.py:88"
    )


def test_a_file_that_does_not_compile_has_no_header() -> None:
    text = f'  File "{RUN}/t.py", line 1\n    def (\n        ^\nSyntaxError: invalid syntax\n'
    assert said(text) == "SyntaxError: invalid syntax · t.py:1"


def test_of_an_exception_group_the_last_member_is_the_cause() -> None:
    text = f"""\
  + Exception Group Traceback (most recent call last):
  |   File "{RUN}/t.py", line 9, in <module>
  | ExceptionGroup: two (1 sub-exception)
  +-+---------------- 1 ----------------
    | Traceback (most recent call last):
    |   File "{RUN}/t.py", line 4, in one
    | ValueError: bad
    +------------------------------------
"""
    assert said(text) == "ValueError: bad · t.py:4"


def test_an_exception_without_a_message_and_one_of_a_module_and_one_of_several_lines() -> None:
    head = f'Traceback (most recent call last):\n  File "{RUN}/t.py", line 4, in f\n'
    assert said(head + "AssertionError\n") == "AssertionError · t.py:4"
    assert said(head + "torch.cuda.OutOfMemoryError: full\n") == (
        "torch.cuda.OutOfMemoryError: full · t.py:4"
    )
    text = head + "RuntimeError: Error(s) in loading:\n\tMissing key\n\tsize\nlater\n"
    assert said(text) == "RuntimeError: Error(s) in loading: Missing key size · t.py:4"


def test_of_several_ranks_the_first_that_raised_is_the_cause() -> None:
    mixed = lines(OTHER, rank=3) + lines(RAISED, rank=1, first=100)
    mixed = [line for pair in zip(mixed[7:], mixed[:7], strict=True) for line in pair]
    mixed.sort(key=lambda line: line.id)
    cause = read_cause(mixed, 1)
    assert (cause.type, cause.rank) == ("KeyError", 3)


def test_the_rank_of_the_container_stands_where_its_lines_have_none() -> None:
    assert read_cause(lines(RAISED), 1, rank=5).rank == 5


def test_a_traceback_that_the_program_survived_is_not_the_cause() -> None:
    text = RAISED + "".join(f"epoch {n}\n" for n in range(30)) + "no space left\n"
    assert said(text, 3) == "no space left (exit code 3)"


def test_another_program_has_its_last_lines_without_those_of_the_harness() -> None:
    text = (
        "usage: x\nsh: 1: nosuch: not found\n"
        "[224] determined: the entrypoint 'nosuch' exited with code 127\n"
    )
    cause = read_cause(lines(text), 127)
    assert cause.message == "usage: x\nsh: 1: nosuch: not found"
    assert (cause.kind, cause.log_position) == ("output", 2)
    assert sentence(cause) == "sh: 1: nosuch: not found (exit code 127)"


def test_a_path_in_the_work_directory_is_relative_to_it() -> None:
    text = f"python3: can't open file '{RUN}/nothere.py': [Errno 2] No such file or directory\n"
    told = "python3: can't open file 'nothere.py': [Errno 2] No such file or directory"
    assert said(text, 2) == f"{told} (exit code 2)"


def test_at_most_twenty_lines_and_a_thousand_characters_are_kept() -> None:
    cause = read_cause(lines("".join(f"{n}\n" for n in range(50))), 1)
    assert cause.message.splitlines() == [str(n) for n in range(30, 50)]
    cause = read_cause(lines(f"{'a' * 5000}\n" * 19 + "end\n"), 1)
    assert len(cause.message) == MAX_MESSAGE
    assert cause.message.endswith("end")


def test_stdout_is_no_cause_unless_it_has_a_traceback() -> None:
    out = [TailLine(id=1, text="loss 0.3")]
    assert sentence(read_cause(out, 3)) == "exit code 3, and nothing on stderr"
    out = [TailLine(id=line.id, text=line.text) for line in lines(RAISED)]
    assert read_cause(out, 1).type == "AttributeError"


def test_a_signal_from_outside_hides_what_was_raised_before() -> None:
    assert said(RAISED, 137) == "ended by signal 9 (SIGKILL)"
    assert said("Segmentation fault\n", 139) == "ended by signal 11 (SIGSEGV): Segmentation fault"
    assert (
        said("  what():  CUDA error\n", 134) == "ended by signal 6 (SIGABRT): what(): CUDA error"
    )
    assert said("x\n", 255) == "x (exit code 255)"


def test_a_kill_for_memory_has_the_limit_and_the_peak_that_the_kernel_names() -> None:
    killed = read_cause(lines("Killed\n"), 137)
    assert sentence(killed_for_memory(killed, 8_000_000_000, 7_900_000_000)) == (
        "killed, out of memory (limit 8 GB, peak 7.9 GB)"
    )
    assert sentence(killed_for_memory(killed, 8_000_000, 0)) == (
        "killed, out of memory (limit 8 MB)"
    )
    assert sentence(killed_for_memory(killed, 0, 0)) == "killed, out of memory"
    raised = read_cause(lines(RAISED), 1)
    assert killed_for_memory(raised, 1, 1) == raised


HEADER = "Traceback (most recent call last):"
HOSTILE = [
    "",
    HEADER,
    f'{HEADER}\n  File "',
    "  | " * 300 + HEADER,
    f'{HEADER}\n  File "x", line 999999999, in f\nE\0\x1b[2J\u202e: \0\x1b]8;;\x07',
    f'{HEADER}\n  File "{"/run/workdir/" * 70}", line 1\nE: x',
    "a." * 490 + ": x",
    "SyntaxError: x",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_output_gives_a_small_and_plain_cause(text: str) -> None:
    cause = read_cause(lines(text), 1)
    told = sentence(cause)
    assert len(told) <= MAX_SENTENCE + 300
    for shown in (told, cause.message.replace("\n", ""), cause.file, cause.type):
        assert shown.isprintable() or shown == ""
    assert cause.line <= 10_000_000


def test_colours_are_left_out_and_hidden_characters_are_shown() -> None:
    assert plain("\x1b[31mred\x1b[0m", 100) == "red"
    assert plain("a\0b\u202ec\x07", 100) == "a\N{REPLACEMENT CHARACTER}b\\u202ec\\u0007"
    assert plain("héllo שלום 🤝", 100) == "héllo שלום 🤝"
    assert plain("x" * 11, 10) == "x" * 9 + "…"
