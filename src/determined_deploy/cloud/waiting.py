"""Waits until a new master answers, and prints what its machine reports until then."""

from __future__ import annotations

import ssl
import time
import urllib.error
import urllib.request
from typing import Callable

from determined.cli import errors

LIMIT_S = 1200.0
PAUSE_S = 5.0
_MARK = "determined: "
"""The begin of the lines that the script of the machine writes for users."""


def wait_for_master(address: str, machine: str, console: Callable[[], str], see: str) -> None:
    """Return once the master answers.

    Args:
        address: its URL.
        machine: the name of its machine, for errors.
        console: reads the console of the machine; empty if it cannot be read.
        see: a command that prints the whole console.

    Raises:
        CliError: it does not within 20 minutes; with the last line of its machine.
    """
    print(f"Waiting for the master at {address} (some minutes) ...", flush=True)
    deadline = time.monotonic() + LIMIT_S
    said = ""
    while not _answers(address):
        words = _last_words(console())
        if words and words != said:
            print(f"  {words}", flush=True)
            said = words
        if time.monotonic() > deadline:
            raise errors.CliError(
                f"the master does not answer at {address} after {LIMIT_S / 60:g} minutes. Its "
                f"machine {machine} last said: {said or 'nothing'}. See its system log: {see}"
            )
        time.sleep(PAUSE_S)


def _answers(address: str) -> bool:
    # Whether it is there; the certificate is judged by those who log in.
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with urllib.request.urlopen(f"{address}/info", timeout=5, context=context) as answer:
            return bool(answer.status == 200)
    except (OSError, ValueError):
        return False


def _last_words(console: str) -> str:
    """The last line that the machine's start script has written to its console."""
    lines = [line for line in console.splitlines() if _MARK in line]
    return lines[-1].partition(_MARK)[2].strip() if lines else ""
