"""Requests that schemathesis makes from the OpenAPI document of a running master: no 5xx.

Usage: python -m tests.fuzz PROGRAM REQUESTS; `make fuzz` gives the program of schemathesis.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from bench.cluster import Cluster, start_cluster

EXCLUDED = "|".join(
    (
        "^/api/v1/auth/logout",
        "^/api/v1/(users|tokens)",
        "^/users",
        "/signals/preemption$",  # waits for a minute
        "/all_gather$",  # waits for its peers
        "/notify_container_running$",
        "^/api/v1/master/logs$",  # may be followed
    )
)
"""Routes that end the caller's account, or that wait longer than `REQUEST_S`."""
REQUEST_S = 5
CONFIG = """
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", 501]
"""
"""501: a function for which this master lacks the settings, such as Kubernetes."""


def main(program: str, requests: int) -> int:
    """Start a cluster, and send it about so many requests; the exit code of schemathesis."""
    with start_cluster(agents=0) as cluster:
        document = _with_plain_names(_document(cluster))
        path = cluster.directory / "openapi.json"
        path.write_text(json.dumps(document))
        config = cluster.directory / "schemathesis.toml"
        config.write_text(CONFIG)
        count = sum(len(operations) for operations in document["paths"].values())
        command = [program, "--config-file", str(config), "run", str(path)]
        command += ["--url", cluster.address, "--header", f"Authorization: Bearer {cluster.token}"]
        command += ["--checks", "not_a_server_error", "--phases", "fuzzing"]
        command += ["--max-examples", str(max(1, requests // count))]
        command += ["--exclude-path-regex", EXCLUDED, "--request-timeout", str(REQUEST_S)]
        command += ["--suppress-health-check", "all", "--continue-on-failure", "--workers", "2"]
        command += ["--warnings", "off", "--generation-database", "none"]
        done = subprocess.run(command, cwd=cluster.directory, check=False)
        return done.returncode or _check_log(cluster)


def _document(cluster: Cluster) -> dict[str, Any]:
    document: dict[str, Any] = cluster.call("GET", "/api/v1/openapi.json")
    return document


def _with_plain_names(document: dict[str, Any]) -> dict[str, Any]:
    """The document without dots in names of path parameters, which schemathesis cannot format."""
    paths = {}
    for path, operations in document["paths"].items():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path":
                    parameter["name"] = parameter["name"].replace(".", "_")
        paths[re.sub(r"\{[^}]*\}", lambda m: m[0].replace(".", "_"), path)] = operations
    return {**document, "paths": paths}


def _check_log(cluster: Cluster) -> int:
    log = Path(cluster.files / "logs" / "master.log").read_text()
    failed = [line for line in log.splitlines() if "a request failed" in line]
    sys.stdout.writelines(f"{line}\n" for line in failed)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
