"""Compares the locked versions with advisories that the operator gives. Uses no network.

python tools/audit_lock.py ADVISORIES [--accept ID ...]

ADVISORIES: a JSON file with one record or a list of records in OSV's form, a directory of such
files, or a zip archive of them. Exit code 1: an advisory names a locked version. 2: ADVISORIES
cannot be read.
"""

from __future__ import annotations

import argparse
import json
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

ROOT = Path(__file__).parent.parent
sys.path[:0] = [str(ROOT)]

from tools.lock_files import LOCKS, Pin, read_lock  # noqa: E402

ECOSYSTEM = "PyPI"
Record = Mapping[str, Any]


class Finding(NamedTuple):
    """A locked version that an advisory names."""

    advisory: str
    aliases: tuple[str, ...]
    pin: Pin
    fixed_in: tuple[str, ...]

    def __str__(self) -> str:
        others = f" ({', '.join(self.aliases)})" if self.aliases else ""
        remedy = f"fixed in {', '.join(self.fixed_in)}" if self.fixed_in else "no fixed version"
        return f"{self.pin.name} {self.pin.version}: {self.advisory}{others}, {remedy}"


class UnreadableAdvisories(Exception):
    """What was given holds no records; the text names it and the remedy."""


def read_advisories(path: Path) -> list[Record]:
    """All records of a file, a directory or an archive. Raises UnreadableAdvisories."""
    found: list[Record] = []
    for name, content in _documents(path):
        try:
            document = json.loads(content)
        except ValueError as error:
            raise UnreadableAdvisories(f"{name} is no JSON: {error}") from error
        for record in document if isinstance(document, list) else [document]:
            if not isinstance(record, dict) or not isinstance(record.get("affected"), list):
                raise UnreadableAdvisories(
                    f"{name} holds no records in OSV's form (objects with 'id' and 'affected')"
                )
            found.append(record)
    if not found:
        raise UnreadableAdvisories(
            f"{path} holds no advisory: give a file of records, a "
            "directory or a zip archive of such files"
        )
    return found


def _documents(path: Path) -> Iterator[tuple[str, bytes]]:
    if path.is_dir():
        for file in sorted(path.rglob("*.json")):
            yield str(file), file.read_bytes()
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                if name.endswith(".json"):
                    yield f"{path}:{name}", archive.read(name)
    elif path.is_file():
        yield str(path), path.read_bytes()
    else:
        raise UnreadableAdvisories(f"{path} does not exist: give the path of advisories")


def findings(pins: Iterable[Pin], records: Iterable[Record]) -> list[Finding]:
    """The locked versions that an advisory names, sorted; withdrawn advisories name none."""
    by_name: dict[str, list[Pin]] = {}
    for pin in {(pin.name, pin.version): pin for pin in pins}.values():
        by_name.setdefault(canonicalize_name(pin.name), []).append(pin)
    found = set()
    for record in records:
        if record.get("withdrawn"):
            continue
        for part in record["affected"]:
            package = part.get("package", {})
            if package.get("ecosystem") != ECOSYSTEM:
                continue
            for pin in by_name.get(canonicalize_name(package.get("name", "")), ()):
                if is_affected(Version(pin.version), part):
                    aliases = tuple(record.get("aliases", ()))
                    found.add(Finding(record["id"], aliases, pin, _fixes(part)))
    return sorted(found)


def is_affected(version: Version, part: Record) -> bool:
    """Whether a record's part lists the version, or has it in one of its ranges."""
    if any(_version(text) == version for text in part.get("versions", ())):
        return True
    return any(_is_within(version, events) for events in _ranges(part))


def _ranges(part: Record) -> list[list[Mapping[str, str]]]:
    """The events of the ranges in releases; those in commits say nothing of a release."""
    return [r["events"] for r in part.get("ranges", ()) if r.get("type") == "ECOSYSTEM"]


def _is_within(version: Version, events: Iterable[Mapping[str, str]]) -> bool:
    """The events, in the order of their versions, switch between affected and not."""
    within = False
    for kind, bound in sorted(_bounds(events), key=lambda event: event[1]):
        if kind == "introduced" and version >= bound:
            within = True
        elif (kind == "fixed" and version >= bound) or (
            kind == "last_affected" and version > bound
        ):
            within = False
    return within


def _bounds(events: Iterable[Mapping[str, str]]) -> Iterator[tuple[str, Version]]:
    """`introduced: 0` means from the first release."""
    for event in events:
        for kind, text in event.items():
            bound = Version("0.dev0") if text == "0" else _version(text)
            if bound is not None:
                yield kind, bound


def _version(text: str) -> Version | None:
    """None for a version that Python's rules do not know: no locked version equals it."""
    try:
        return Version(text)
    except InvalidVersion:
        return None


def _fixes(part: Record) -> tuple[str, ...]:
    events = [event for events in _ranges(part) for event in events]
    return tuple(dict.fromkeys(event["fixed"] for event in events if "fixed" in event))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Compare the locked versions with advisories.")
    parser.add_argument("advisories", type=Path)
    parser.add_argument("--accept", action="append", default=[], metavar="ID")
    options = parser.parse_args(arguments)
    pins = [pin for name in LOCKS for pin in read_lock(name).pins]
    try:
        records = read_advisories(options.advisories)
    except UnreadableAdvisories as error:
        print(error, file=sys.stderr)
        return 2
    found = findings(pins, records)
    unaccepted = [f for f in found if not {f.advisory, *f.aliases} & set(options.accept)]
    for finding in unaccepted:
        print(finding)
    print(
        f"{len({(p.name, p.version) for p in pins})} locked versions, {len(records)} advisories: "
        f"{len(unaccepted)} found, {len(found) - len(unaccepted)} accepted"
    )
    return 1 if unaccepted else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
