"""`det trial support-bundle`: packs the data that explains a trial into one file."""

from __future__ import annotations

import argparse
import io
import json
import pathlib
import tarfile
import time
from typing import Any, Dict, Iterator, Tuple

from determined.cli import connect, errors, log_stream, pagination
from determined.common.api import BaseSession
from determined.common.api import errors as api_errors


def write(args: argparse.Namespace) -> None:
    """Write the trial, its experiment, workloads, story and logs, and the master's log.

    The master masks the secrets in the configurations.

    Raises:
        CliError: the file cannot be written.
    """
    number = args.trial_id
    session = connect.session(args)
    trial = session.get(f"/api/v1/trials/{number}").json()["trial"]
    folder = pathlib.Path(args.output_dir or ".")
    stem = f"det-bundle-trial-{number}-{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}"
    target = folder / f"{stem}.tar.gz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tarfile.open(target, "w:gz") as bundle:
            for name, text in _parts(session, number, trial):
                _add(bundle, f"{stem}/{name}", text.encode())
    except OSError as error:
        raise errors.CliError(f"'{target}': {error.strerror or error}") from None
    print(f"Wrote {target}")


def _parts(session: BaseSession, number: int, trial: Dict[str, Any]) -> Iterator[Tuple[str, str]]:
    experiment_id = trial["experimentId"]
    yield "trial.json", _json(trial)
    experiment = session.get(f"/api/v1/experiments/{experiment_id}").json()
    yield "experiment.json", _json(experiment)
    path = f"/api/v1/trials/{number}/workloads"
    yield "workloads.json", _json(pagination.fetch(session, path, "workloads", {"limit": 500}))
    yield "master.json", _json(session.get("/api/v1/master").json())
    yield "agents.json", _json(session.get("/api/v1/agents").json())
    path = f"/api/v1/trials/{number}/story"
    yield "story.json", _json(_or_reason(lambda: _story(session, path)))
    lines = log_stream.messages(session.get(f"/api/v1/trials/{number}/logs", stream=True))
    yield "trial_logs.txt", "".join(line["message"] for line in lines)
    yield "master_logs.txt", _or_reason(lambda: _master_log(session))


def _story(session: BaseSession, path: str) -> Any:
    lines: Any = []
    while True:
        page = session.get(path, params={"limit": 500, "offset": len(lines)}).json()["lines"]
        lines += page
        if len(page) < 500:
            return lines


def _master_log(session: BaseSession) -> str:
    entries = log_stream.messages(session.get("/api/v1/master/logs", stream=True))
    logged = (message["logEntry"] for message in entries)
    return "".join(f"{e['timestamp']} {e.get('level', '')} {e['message']}\n" for e in logged)


def _or_reason(read: Any) -> Any:
    """The result of `read`, or the reason of its failure: a bundle is useful without one part."""
    try:
        return read()
    except api_errors.APIException as error:
        return f"not available: {error}"


def _json(data: Any) -> str:
    return json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _add(bundle: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    member.mtime = int(time.time())
    bundle.addfile(member, io.BytesIO(data))
