"""The JSON files by which commands and supervisor share the processes to run and their status.

Imports little of the standard library and nothing else: the supervisor stays resident.
"""

import dataclasses
import json
import os
import pathlib
from typing import Any, Dict, List, Optional

from determined_deploy.local import processes


@dataclasses.dataclass(frozen=True)
class ProcessSpec:
    """One process to run.

    Processes start in ascending `order` and stop in descending order. A process that does not
    end within `stop_grace_s` is killed. The back-off of restarts doubles from `backoff_first_s`
    to `backoff_max_s`, and resets after a run of `healthy_after_s`. A log larger than
    `log_bytes` is rotated to `<log>.1`, `<log>.2`, … with at most `keep_logs` files.
    """

    name: str
    argv: List[str]
    log: str
    env: Dict[str, str] = dataclasses.field(default_factory=dict)
    order: int = 0
    autorestart: bool = True
    stop_grace_s: float = 15.0
    backoff_first_s: float = 0.2
    backoff_max_s: float = 30.0
    healthy_after_s: float = 60.0
    log_bytes: int = 64 << 20
    keep_logs: int = 3


@dataclasses.dataclass(frozen=True)
class ProcessStatus:
    """The last known status of one process.

    `state` is "running", "waiting" (for the next start), "exited" (no restart follows) or
    "stopping". `exit_code` is that of the last end: negative for a signal, None before it.
    """

    name: str
    state: str
    pid: int = 0
    start: str = ""
    restarts: int = 0
    exit_code: Optional[int] = None

    @property
    def process(self) -> Optional[processes.ProcessIdentity]:
        """The live process, even if its supervisor is dead; None after its end."""
        identity = processes.ProcessIdentity(self.pid, self.start)
        return identity if self.pid and processes.is_alive(identity) else None


def write_spec(directory: pathlib.Path, spec: ProcessSpec) -> None:
    """Store a spec under its name, with mode 0600, as its environment may hold secrets."""
    write_private(directory / f"{spec.name}.json", json.dumps(dataclasses.asdict(spec), indent=1))


def list_specs(directory: pathlib.Path) -> List[ProcessSpec]:
    """All specs in order of start."""
    stored = [ProcessSpec(**document) for document in _documents(directory)]
    return sorted(stored, key=lambda spec: (spec.order, spec.name))


def delete_spec(directory: pathlib.Path, name: str) -> bool:
    """Delete a spec. False if it did not exist."""
    return _unlink(directory / f"{name}.json")


def write_status(directory: pathlib.Path, status: ProcessStatus) -> None:
    write_private(directory / f"{status.name}.json", json.dumps(dataclasses.asdict(status)))


def list_status(directory: pathlib.Path) -> Dict[str, ProcessStatus]:
    """The last known status of each process by its name."""
    stored = (ProcessStatus(**document) for document in _documents(directory))
    return {status.name: status for status in stored}


def delete_status(directory: pathlib.Path, name: str) -> bool:
    return _unlink(directory / f"{name}.json")


def write_private(path: pathlib.Path, text: str) -> None:
    """Replace a file atomically: readers see the old or the new text, never a part."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(str(draft), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    os.replace(str(draft), str(path))


def _documents(directory: pathlib.Path) -> List[Dict[str, Any]]:
    documents = []
    for path in sorted(directory.glob("[!.]*.json")):
        try:
            documents.append(json.loads(path.read_text()))
        except (FileNotFoundError, ValueError):
            continue  # deleted a moment ago
    return documents


def _unlink(path: pathlib.Path) -> bool:
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    return True
