"""One name and one version of the release, in everything that states them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from packaging.version import Version
from ruamel.yaml import YAML

import determined
import determined_master
from determined_wire.release import DISTRIBUTION, VERSION

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
CLIENTS = ("0.38.0", "0.38.1", "0.42.0")
OTHER_PRODUCT = re.compile(
    r"pip install[^\n`'\"]*['\" ]determined(?![\w/.-])|(?<![\w./-])determined\[[a-z]"
    r"|`determined`(?: and `[\w-]+`)? (?:is |are )?installed"
)
"""An instruction that installs the distribution of 0.38.1, with or without extras."""
INSTRUCTIONS = (
    *("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "docs/**/*.md", "examples/**/*"),
    *("src/**/*.py", "src/**/*.json", "deploy/**/*", "webui/src/**/*.ts*", "tools/**/*.py"),
)


def test_everything_states_the_same_name_and_version() -> None:
    chart = YAML(typ="safe").load((ROOT / "deploy/helm/determined/Chart.yaml").read_text())
    assert (PROJECT["name"], PROJECT["version"]) == (DISTRIBUTION, VERSION)
    assert determined.__version__ == determined_master.__version__ == VERSION
    assert chart["appVersion"] == VERSION
    assert Version(chart["version"]) == Version(VERSION), "a chart's version is a semantic one"
    assert f"## {VERSION}" in (ROOT / "CHANGELOG.md").read_text()


@pytest.mark.parametrize("client", CLIENTS)
def test_the_version_is_above_those_that_clients_compare_with(client: str) -> None:
    assert Version(VERSION) > Version(client)


def test_no_instruction_installs_the_distribution_of_another_product() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for pattern in INSTRUCTIONS
        for path in sorted(ROOT.glob(pattern))
        if path.is_file() and "determined_master/webui/" not in str(path)
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1)
        if OTHER_PRODUCT.search(line)
    ]
    assert not lines, f"write {DISTRIBUTION}"


@pytest.mark.parametrize(
    ("line", "is_other"),
    [
        ("pip install determined", True),
        ("pip install 'determined[aws]'", True),
        ("the image needs determined[storage]", True),
        ("pip install --user determined==0.38.1", True),
        ("with `determined` and `scikit-learn` installed", True),
        ("pip install 'determined-platform[aws]'", False),
        ("pip install dist/determined_platform-1.0.0b1-py3-none-any.whl", False),
        ("values = determined['id']", False),
    ],
)
def test_the_pattern_sees_the_other_product(line: str, is_other: bool) -> None:
    assert bool(OTHER_PRODUCT.search(line)) == is_other
