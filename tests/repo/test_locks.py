"""The lock files, and the checks that `make check-lock` runs."""

from __future__ import annotations

import re
import shutil
import tomllib
from datetime import date, timedelta
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import pytest
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tools.check_lock import ROOT, overdue, problems
from tools.lock_files import LOCKS, MACHINES, PYPROJECT, RELEASES, WHOLE, path_of, read_lock

from determined_wire.locked import FILE, requirements
from tools import machine_lock


def copy_of_the_locks(root: Path) -> Path:
    shutil.copy(ROOT / PYPROJECT, root)
    shutil.copytree(ROOT / "requirements", root / "requirements")
    return root


def test_the_locks_fit_the_project() -> None:
    assert list(problems()) == []


def test_machines_install_the_versions_of_the_locks() -> None:
    """`make lock` writes the list that the wheel carries."""
    path = ROOT / "src" / "determined_wire" / FILE
    assert path.read_text() == machine_lock.text_of(), "run tools/machine_lock.py"


@pytest.mark.parametrize("extras", [("base", "agent", "storage"), ("base", "master", "aws")])
def test_the_list_of_machines_has_all_that_its_extras_need(extras: tuple[str, ...]) -> None:
    lines = requirements(extras).splitlines()
    names = {line.partition("==")[0] for line in lines}
    project = tomllib.loads((ROOT / PYPROJECT).read_text())["project"]
    needs = {**project["optional-dependencies"], "base": project["dependencies"]}
    direct = {canonicalize_name(Requirement(n).name) for e in extras for n in needs[e]}
    assert direct <= names
    assert all("--hash=sha256:" in line for line in lines)
    for name in direct:
        for need in map(Requirement, requires(name) or ()):
            if need.marker is None or need.marker.evaluate({"extra": ""}):
                assert canonicalize_name(need.name) in names, f"{name} needs {need.name}"


def test_an_extra_that_machines_do_not_install_is_named() -> None:
    with pytest.raises(ValueError, match="no packages are locked for notebooks"):
        requirements(["agent", "notebooks"])


def test_a_changed_dependency_makes_every_lock_old(tmp_path: Path) -> None:
    root = copy_of_the_locks(tmp_path)
    project = root / PYPROJECT
    project.write_text(project.read_text().replace('"asyncpg>=0.32;', '"asyncpg>=0.33;'))
    found = list(problems(root))
    assert len(found) == len(LOCKS)
    assert found[0] == (
        f"requirements/{WHOLE}.txt is older than the dependencies in pyproject.toml: "
        "run `make lock`"
    )


def test_a_changed_description_leaves_the_locks_as_they_are(tmp_path: Path) -> None:
    root = copy_of_the_locks(tmp_path)
    project = root / PYPROJECT
    project.write_text(project.read_text().replace("A deep-learning", "Another"))
    assert list(problems(root)) == []


@pytest.mark.parametrize(
    ("pattern", "replacement", "said"),
    [
        (r"( \\\n    --hash=sha256:[0-9a-f]{64})+", "", "uv in requirements/lock.txt has no hash"),
        (r"^uv==\S+", "uv>=0.1", "'uv>=0.1 \\\\', which pins nothing"),
        (r"^# made.*\n", "", "does not say when and from what it was made"),
        (r"\Z", "# https://packages.example.org\n", "names an address"),
    ],
)
def test_a_changed_lock_is_named(
    tmp_path: Path, pattern: str, replacement: str, said: str
) -> None:
    root = copy_of_the_locks(tmp_path)
    path = path_of("lock", root)
    changed = re.sub(pattern, replacement, path.read_text(), count=1, flags=re.MULTILINE)
    assert changed != path.read_text()
    path.write_text(changed)
    [found] = problems(root)
    assert "requirements/lock.txt" in found
    assert said in found


def test_a_lock_with_another_version_than_the_whole_is_named(tmp_path: Path) -> None:
    root = copy_of_the_locks(tmp_path)
    path = path_of("agent", root)
    path.write_text(re.sub(r"(?m)^urllib3==\S+", "urllib3==1.26.15", path.read_text()))
    [found] = problems(root)
    assert "requirements/agent.txt has urllib3 1.26.15" in found


def test_a_missing_lock_is_named(tmp_path: Path) -> None:
    root = copy_of_the_locks(tmp_path)
    path_of("fuzz", root).unlink()
    assert list(problems(root)) == [f"{path_of('fuzz', root)} is missing: run `make lock`"]


def test_a_lock_is_overdue_after_its_age() -> None:
    lock = read_lock(WHOLE)
    assert overdue(lock, lock.made + timedelta(days=31), 31) is None
    said = overdue(lock._replace(made=date(2026, 1, 1)), date(2026, 2, 2), 31)
    assert said is not None
    assert "32 days old" in said
    assert "make lock-upgrade" in said


def environments() -> list[dict[str, str]]:
    return [
        {
            "python_version": release,
            "python_full_version": f"{release}.5",
            "platform_machine": machine,
            "sys_platform": "linux",
            "os_name": "posix",
            "platform_system": "Linux",
            "platform_python_implementation": "CPython",
            "implementation_name": "cpython",
            "extra": "",
        }
        for release in RELEASES
        for machine in MACHINES
    ]


@pytest.mark.parametrize(
    "environment",
    environments(),
    ids=lambda e: "-".join((e["python_version"], e["platform_machine"])),
)
def test_every_requirement_is_met_by_one_locked_version(environment: dict[str, str]) -> None:
    document = tomllib.loads((ROOT / PYPROJECT).read_text())
    project = document["project"]
    extras = project["optional-dependencies"].values()
    wanted = [*project["dependencies"], *(text for extra in extras for text in extra)]
    wanted += document["build-system"]["requires"]
    locked: dict[str, str] = {}
    for pin in read_lock(WHOLE).pins:
        if not pin.marker or Marker(pin.marker).evaluate(environment):
            assert pin.name not in locked
            locked[pin.name] = pin.version
    for requirement in map(Requirement, wanted):
        marker = requirement.marker
        if requirement.name == project["name"] or not (
            marker is None or marker.evaluate(environment)
        ):
            continue
        assert requirement.specifier.contains(locked[canonicalize_name(requirement.name)])


def test_the_tests_run_with_the_locked_versions() -> None:
    """`make` installs from the lock; an environment of another making fails here."""
    here = [p for p in read_lock("dev").pins if not p.marker or Marker(p.marker).evaluate()]
    found = {}
    for pin in here:
        try:
            found[pin.name] = version(pin.name)
        except PackageNotFoundError:
            found[pin.name] = "missing"
    assert found == {pin.name: pin.version for pin in here}
