"""Builds the web UI into the master's package, once for each state of its sources.

python tools/build_webui.py            builds; exits with 1 where the sources cannot be built, and
                                       with 3 where Node or the packages cannot be had
python tools/build_webui.py --soft     the same for targets that work without a web UI: a failure
                                       is one line, and the exit status is 0
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.webui_commands import TimedOut, last_lines, run  # noqa: E402
from tools.webui_errors import BuildError  # noqa: E402
from tools.webui_node import Node, find_node, install_packages  # noqa: E402
from tools.webui_sources import COMPRESSOR, hash_of  # noqa: E402

BUILD_LIMIT_S = 300.0
LOCK_LIMIT_S = 900.0
HASH_FILE = ".hash"


def main(argv: list[str] | None = None) -> int:
    """Build what is out of date; the exit status."""
    parser = argparse.ArgumentParser(description="Build the web UI into the master's package.")
    parser.add_argument("--soft", action="store_true", help="a failure is one line and no error")
    parser.add_argument("--root", type=Path, default=ROOT, help="the repository")
    args = parser.parse_args(argv)
    try:
        build(args.root.resolve(), is_quiet=args.soft)
    except (BuildError, OSError) as error:
        text = f"The web UI is not built: {error}"
        print(text.partition("\n")[0].rstrip(":") if args.soft else text, flush=True)
        return 0 if args.soft else getattr(error, "exit_code", 1)
    return 0


def build(root: Path, *, is_quiet: bool = False) -> None:
    """Build `webui/` of a repository unless its sources are built already.

    Another build of the same repository is waited for.

    Raises:
        BuildError: it cannot be built; the files of an earlier build stay.
    """
    webui, private = root / "webui", root / ".venv-node"
    target = root / "src" / "determined_master" / "webui"
    if not (webui / "package.json").is_file():
        raise BuildError(f"{webui}/package.json is missing: take a whole clone of the repository")
    private.mkdir(exist_ok=True)
    with _locked(private / "lock"):
        wanted = hash_of(webui)
        if _built_hash(target) == wanted:
            if not is_quiet:
                print("web UI: up to date")
            return
        began = time.monotonic()
        node = find_node(webui, private)
        install_packages(node, webui, private / "npm.log")
        _run_build(node, webui, private / "build.log")
        sizes = _publish(node, webui / "dist", private, target, wanted)
        print(f"web UI: built in {time.monotonic() - began:.0f} s, {sizes}", flush=True)


def _built_hash(target: Path) -> str:
    try:
        return (target / HASH_FILE).read_text().strip()
    except OSError:
        return ""


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Keep other builds of the same repository away; the lock ends with its process."""
    with path.open("w") as lock:
        deadline = time.monotonic() + LOCK_LIMIT_S
        is_announced = False
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise BuildError(
                        f"another build holds {path} for {LOCK_LIMIT_S:.0f} s: end it"
                    ) from None
            if not is_announced:
                print("web UI: waiting for another build ...", flush=True)
                is_announced = True
            time.sleep(0.2)
        yield


def _run_build(node: Node, webui: Path, log: Path) -> None:
    print("web UI: building ...", flush=True)
    shutil.rmtree(webui / "dist", ignore_errors=True)
    command = (*node.npm, "run", "build")
    try:
        status = run(command, cwd=webui, env=node.env, log=log, limit_s=BUILD_LIMIT_S)
    except TimedOut as error:
        raise BuildError(f"{error}: see {log}") from None
    if status:
        raise BuildError(f"npm run build failed (status {status}, see {log}):\n{last_lines(log)}")
    index = webui / "dist" / "index.html"
    page = index.read_text() if index.is_file() else ""
    if "<head" not in page or "<body" not in page:
        raise BuildError(f"the build left no page with a head and a body at {index}: see {log}")


def _publish(node: Node, dist: Path, private: Path, target: Path, wanted: str) -> str:
    """Compress a copy of the files and put it where the master finds it; their sizes."""
    staged, old, log = private / "staged", private / "old", private / "compress.log"
    for path in (staged, old):
        shutil.rmtree(path, ignore_errors=True)
    shutil.copytree(dist, staged)
    command = (node.program, str(COMPRESSOR), str(staged))
    try:
        status = run(command, cwd=private, env=node.env, log=log, limit_s=BUILD_LIMIT_S)
    except TimedOut as error:
        raise BuildError(f"compressing: {error}") from None
    if status:
        raise BuildError(f"compressing failed (status {status}, see {log}):\n{last_lines(log)}")
    (staged / HASH_FILE).write_text(f"{wanted}\n")
    if target.exists():
        target.rename(old)
    staged.rename(target)
    shutil.rmtree(old, ignore_errors=True)
    total = json.loads(log.read_text())
    kib = {name: total[name] / 1024 for name in ("plain", ".gz", ".br")}
    return (
        f"{total['files']} files, {kib['plain']:.0f} KiB ({kib['.gz']:.0f} as gzip, "
        f"{kib['.br']:.0f} as brotli)"
    )


if __name__ == "__main__":
    sys.exit(main())
