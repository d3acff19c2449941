"""Follows the journal of this machine, from where the last run ended."""

from __future__ import annotations

import logging
import queue
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from determined_agent.journal.batches import Entry, entry_of

log = logging.getLogger(__name__)

MAX_WAITING = 20_000
"""Entries in memory; the journal is not read any further."""


class Journal:
    """Follows the journal of this machine in a thread."""

    def __init__(self, cursor: Path, journalctl: Sequence[str] = ("journalctl",)) -> None:
        """
        Args:
            cursor: a file with the place behind the last entry that was sent.
            journalctl: runs that program, in a container that of the machine.
        """
        self._cursor = cursor
        self._waiting: queue.Queue[Entry] = queue.Queue(MAX_WAITING)
        self._known = cursor.read_text().strip() if cursor.exists() else ""
        self._has_entries = False
        start = f"--after-cursor={self._known}" if self._known else "--boot"
        options = ("--follow", "--no-tail", "--output=json", "--no-pager", start)
        self._process = subprocess.Popen([*journalctl, *options], stdout=subprocess.PIPE)
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
        entries: list[Entry] = []
        while len(entries) < MAX_WAITING:
            try:
                entries.append(self._waiting.get_nowait())
            except queue.Empty:
                break
        return entries

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
