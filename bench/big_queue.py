"""A queue of 2,000 waiting jobs, submitted to a running master as users do.

    python -m bench.big_queue --master URL --token TOKEN [--jobs N] [--slots N]

Each job is a command that sleeps. Without free slots all of them wait.
"""

from __future__ import annotations

import argparse
import http.client
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

JOBS, CLIENTS = 2000, 8


def submit(address: str, token: str, jobs: int = JOBS, slots: int = 1) -> list[str]:
    """Submit so many commands; the ids of their tasks.

    Raises:
        RuntimeError: the master refused one.
    """
    parts = [range(n, jobs, CLIENTS) for n in range(min(CLIENTS, jobs))]
    with ThreadPoolExecutor(CLIENTS) as clients:
        found = clients.map(lambda part: _submit(address, token, part, slots), parts)
        return [task_id for ids in found for task_id in ids]


def _submit(address: str, token: str, numbers: Sequence[int], slots: int) -> list[str]:
    target = urlsplit(address)
    connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=60)
    headers = {"Authorization": f"Bearer {token}"}
    ids = []
    try:
        for number in numbers:
            config = {
                "entrypoint": ["sleep", "86400"],
                "description": f"waiting {number}",
                "resources": {"slots": slots, "priority": 1 + number % 99},
            }
            body = json.dumps({"config": config})
            connection.request("POST", "/api/v1/commands", body, headers)
            answer = connection.getresponse()
            content = answer.read()
            if answer.status != 200:
                raise RuntimeError(f"the master refused job {number}: {content.decode()[:300]}")
            ids.append(json.loads(content)["command"]["id"])
    finally:
        connection.close()
    return ids


def _main(args: argparse.Namespace) -> None:
    started = time.monotonic()
    ids = submit(args.master, args.token, args.jobs, args.slots)
    print(f"{len(ids)} jobs submitted in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--master", required=True, help="address of the master")
    parser.add_argument("--token", required=True, help="of a user who may submit commands")
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--slots", type=int, default=1)
    _main(parser.parse_args())
