"""The service: `python -m determined_agent.cloudwatch --group GROUP --stream STREAM`.

It follows the journal from where the last run ended. A restart sends at most the last batch twice.
While CloudWatch does not answer, nothing more is read: journald keeps it, within its own limits.
"""

from __future__ import annotations

import argparse
import logging
import queue
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

from determined_agent import clock
from determined_agent.cloudwatch.batches import Entry, batches, entry_of
from determined_agent.cloudwatch.load import Load, nvml_of_machine
from determined_agent.cloudwatch.sender import CloudWatch, MissingPackage
from determined_agent.log_format import configure_logging

log = logging.getLogger(__name__)

METRICS_EVERY_S = 60.0
MOST_WAITING = 20_000
"""Entries in memory; the journal is not read any further."""
EXIT_CANNOT_START = 2


class Journal:
    """Follows the journal of this machine in a thread."""

    def __init__(self, cursor: Path) -> None:
        """`cursor`: a file with the place behind the last entry that was sent."""
        self._cursor = cursor
        self._waiting: queue.Queue[Entry] = queue.Queue(MOST_WAITING)
        self._known = cursor.read_text().strip() if cursor.exists() else ""
        self._has_entries = False
        start = f"--after-cursor={self._known}" if self._known else "--boot"
        command = ["journalctl", "--follow", "--no-tail", "--output=json", "--no-pager", start]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert self._process.stdout is not None
        self._thread = threading.Thread(target=self._read, args=(self._process.stdout,))
        self._thread.daemon = True
        self._thread.start()

    @property
    def has_ended(self) -> bool:
        """Whether journalctl has ended, so that no further entry comes."""
        return self._process.poll() is not None and not self._thread.is_alive()

    def take(self) -> list[Entry]:
        """The entries since the last call, in order."""
        found: list[Entry] = []
        while len(found) < MOST_WAITING:
            try:
                found.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return found

    def note_sent(self, entry: Entry) -> None:
        """Continue behind this entry next time."""
        draft = self._cursor.with_suffix(".new")
        draft.write_text(entry.cursor)
        draft.replace(self._cursor)

    def forget_bad_cursor(self) -> None:
        """Begin with this start of the machine next time, if journalctl refused the cursor."""
        if self._known and not self._has_entries and self._process.returncode:
            log.warning("journalctl does not take the cursor %r, which is forgotten", self._known)
            self._cursor.unlink(missing_ok=True)

    def close(self) -> None:
        """Read no further."""
        self._process.terminate()
        self._process.wait()

    def _read(self, lines: IO[bytes]) -> None:
        for line in lines:
            entry = entry_of(line)
            if entry is not None:
                self._has_entries = True
                self._waiting.put(entry)


def main() -> int:
    """Run until SIGTERM; the exit code."""
    args = _arguments().parse_args()
    configure_logging("info")
    ending = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ending.set())
    try:
        cloud = CloudWatch(args.group, args.stream, args.region, ending)
    except MissingPackage as error:
        log.error("%s", error)
        return EXIT_CANNOT_START
    args.state.mkdir(parents=True, exist_ok=True)
    try:
        journal = Journal(args.state / "cursor")
    except OSError as error:
        log.error("the journal cannot be read: %s", error)
        return EXIT_CANNOT_START
    try:
        _follow(journal, cloud, ending, args.every)
    finally:
        journal.close()
    if ending.is_set():
        return 0
    journal.forget_bad_cursor()
    return 1  # systemd starts it again


def _follow(journal: Journal, cloud: CloudWatch, ending: threading.Event, every_s: float) -> None:
    load = Load(nvml=nvml_of_machine())
    measured_s = clock.monotonic_s()
    while True:
        has_ended = journal.has_ended or ending.wait(every_s)
        entries = journal.take()
        if not all(cloud.send(batch) for batch in batches(entries)):
            return
        if entries:
            journal.note_sent(entries[-1])
        if has_ended:
            return
        if clock.monotonic_s() - measured_s >= METRICS_EVERY_S:
            measured_s = clock.monotonic_s()
            cloud.put(load.metrics())


def _arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="determined_agent.cloudwatch",
        description="Sends the journal and the load of this machine to CloudWatch.",
    )
    parser.add_argument("--group", required=True, help="group of CloudWatch Logs")
    parser.add_argument("--stream", required=True, help="stream there, and the machine's name")
    parser.add_argument("--region", default="", help="of AWS (default: that of boto3)")
    parser.add_argument("--every", type=float, default=5.0, help="seconds between two batches")
    parser.add_argument(
        "--state",
        type=Path,
        default=Path("/var/lib/determined-cloudwatch"),
        help="directory that keeps the place in the journal",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
