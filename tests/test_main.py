"""The command `determined-master` as a process: how it ends."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
COMMAND = [sys.executable, "-m", "determined_master.main"]


@pytest.mark.parametrize("words", [["run"], ["backup", "to"], ["restore", "to"]])
def test_an_interrupt_before_the_end_gives_no_exit_code_0(
    tmp_path: Path, words: list[str]
) -> None:
    (tmp_path / "to").mkdir()
    if words[0] == "restore":
        manifest = (
            '{"format": 1, "revision": "0001", "server": "18", "made_at": "2026-01-01T00:00:00Z",'
            ' "tables": [], "sequences": {}, "partitions": []}'
        )
        (tmp_path / "to" / "manifest.json").write_text(manifest)
    with socket.create_server(("127.0.0.1", 0)) as mute:
        port = str(mute.getsockname()[1])
        flags = ["--db-host", "127.0.0.1", "--db-port", port, "--db-user", "u", "--db-name", "n"]
        started = subprocess.Popen(
            [*COMMAND, *words, *flags],
            cwd=tmp_path,
            env={k: v for k, v in os.environ.items() if not k.startswith("DET_")},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        mute.settimeout(60)
        connection, _ = mute.accept()
        with connection:
            started.send_signal(signal.SIGINT)
            out, err = started.communicate(timeout=60)
    assert (started.returncode, out) == (130, "")
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("module", "absent"),
    [
        ("main", {"determined_master.app", "uvicorn"}),
        (
            "run",
            {
                *("determined_master.backends.kubernetes", "determined_master.backends.cloud"),
                *("determined_master.composition.simulation", "cryptography", "markdown_it"),
            },
        ),
    ],
    ids=["the version, a check, a wrong option", "a master without clusters, clouds and TLS"],
)
def test_nothing_imports_what_its_start_does_not_need(module: str, absent: set[str]) -> None:
    program = (
        f"import sys, determined_master.{module}; "
        f"print(sorted({absent!r}.intersection(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
