"""Makes a release; without --publish, everything but the steps that need the network.

python tools/release.py              build, install, write the notes; print the rest
python tools/release.py --publish    run the rest too

Images and chart go to the registry of `determined_wire/images.py`, which they name themselves.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

from tools.make_dist import CannotRelease, clean_commit  # noqa: E402

from determined_wire import images  # noqa: E402
from determined_wire.release import VERSION  # noqa: E402

DIST = ROOT / "dist"
NOTES = DIST / "NOTES.md"
UNRELEASED = "(unreleased)"
BOTH = ("amd64", "arm64")
MACHINES = {part: BOTH for part in images.PARTS} | {
    images.TASK_PARTS["cuda"]: ("amd64",),
    images.TASK_PARTS["rocm"]: ("amd64",),
}
"""For which machines a part has an image: PyTorch has CUDA and ROCm for one kind."""
JOIN = ("docker", "buildx", "imagetools", "create", "--tag")


class Step(NamedTuple):
    """A command of a release."""

    title: str
    command: tuple[str, ...]
    needs_network: bool = False


def steps() -> list[Step]:
    """All steps, in their order; nothing is published before everything is built and installed."""
    wheel = f"dist/determined_platform-{VERSION}-py3-none-any.whl"
    sdist = f"dist/determined_platform-{VERSION}.tar.gz"
    files = (wheel, sdist, "dist/SHA256SUMS")
    # A release is not made where this test would be skipped.
    as_root = ("sudo", "env", "SKIPPED_STATUS=1") if os.geteuid() else ("env", "SKIPPED_STATUS=1")
    built = [
        (part, machine, f"{images.published(part)}-{machine}")
        for part, machines in MACHINES.items()
        for machine in machines
    ]
    return [
        Step("files", (sys.executable, "tools/make_dist.py")),
        Step("the wheel where there is no checkout", (*as_root, "tests/installed.sh", "dist")),
        *(
            Step(
                f"image {part} for {machine}",
                ("env", f"PLATFORM=linux/{machine}", "deploy/build-image", part, tag),
                needs_network=True,
            )
            for part, machine, tag in built
        ),
        Step("signatures", ("sigstore", "sign", *files), True),
        *(Step(f"push {tag}", ("docker", "push", tag), True) for _, _, tag in built),
        *(
            Step(f"one name for {part}", (*JOIN, images.published(part), *tags), True)
            for part in MACHINES
            if (tags := [tag for one, _, tag in built if one == part])
        ),
        Step("chart", ("helm", "push", _chart(), f"oci://{images.REGISTRY}/charts"), True),
        Step("packages", ("twine", "upload", wheel, sdist), True),
        Step(
            "page of the release",
            ("gh", "release", "create", f"v{VERSION}", "--notes-file", "dist/NOTES.md", *files),
            True,
        ),
    ]


def notes_of(changelog: str, version: str) -> str:
    """The section of a version, without its heading.

    Raises:
        CannotRelease: there is none, or it is empty.
    """
    heading = rf"^## {re.escape(version)}(?: [^\n]*)?\n"
    section = re.search(heading + r"(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None or not section[1].strip():
        raise CannotRelease(f"CHANGELOG.md has no section '## {version}' with changes: write it")
    return section[1].strip() + "\n"


def check_publishable(changelog: str, tags: Sequence[str]) -> None:
    """Raises CannotRelease while the changelog or the tag says that this is no release."""
    if f"## {VERSION} {UNRELEASED}" in changelog:
        raise CannotRelease(f"CHANGELOG.md says {UNRELEASED} for {VERSION}: write the day instead")
    if f"v{VERSION}" not in tags:
        raise CannotRelease(f"the last commit has no tag v{VERSION}: git tag --sign v{VERSION}")


def release(
    *,
    is_published: bool,
    changelog: str,
    run: Callable[[Sequence[str]], object],
) -> None:
    """Run the steps, or print those that need the network."""
    text = notes_of(changelog, VERSION)
    for step in steps():
        shown = shlex.join("python3" if word == sys.executable else word for word in step.command)
        if step.needs_network and not is_published:
            print(f"left out: {step.title}: {shown}", flush=True)
            continue
        print(f"{step.title}: {shown}", flush=True)
        run(step.command)
        if step.title == "files":
            NOTES.write_text(text)


def main(argv: Sequence[str] | None = None) -> int:
    """Make the release; the exit status."""
    parser = argparse.ArgumentParser(description="Make a release.")
    parser.add_argument("--publish", action="store_true", help="also run what needs the network")
    args = parser.parse_args(argv)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    try:
        commit = clean_commit(ROOT)
        if args.publish:
            tags = _output("git", "tag", "--points-at", commit.digest).split()
            check_publishable(changelog, tags)
        release(
            is_published=args.publish,
            changelog=changelog,
            run=lambda command: subprocess.run(command, cwd=ROOT, check=True),
        )
    except (CannotRelease, subprocess.CalledProcessError) as error:
        print(f"release: {error}", file=sys.stderr)
        return 1
    return 0


def _chart() -> str:
    described = (ROOT / "deploy/helm/determined/Chart.yaml").read_text()
    version = re.search(r"^version: (\S+)$", described, re.MULTILINE)
    assert version is not None
    return f"dist/determined-{version[1]}.tgz"


def _output(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    raise SystemExit(main())
