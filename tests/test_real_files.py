"""Files in the forms that users of 0.38.1 have; `tests/data/real` has them and what they mean."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.deploy.helm.rendering import refusal, render, settings_of
from tests.domain.config.builders import LAYERS
from tests.settings_file import SettingsFile

from determined.common import context
from determined_agent.settings.options import load as load_agent
from determined_master.domain.config.experiment import ConfigErrors, build_experiment
from determined_master.settings.master import load as load_master
from determined_master.settings.yaml_text import parse_yaml
from determined_wire.settings_reader import SettingsError

REAL = Path(__file__).parent / "data/real"
DAEMONS = {
    "master": SettingsFile("master.yaml", load_master, SettingsError, {"HOME": "/home/ada"}),
    "agent": SettingsFile("agent.yaml", load_agent, SettingsError, {"HOME": "/home/ada"}),
}


def expected(kind: str) -> dict[str, Any]:
    """What is expected of each file of a kind."""
    rows: dict[str, Any] = YAML(typ="safe").load((REAL / kind / "expected.yaml").read_text())
    return rows


def at(value: Any, path: str) -> Any:
    for key in path.split("."):
        if isinstance(value, (list, tuple)):
            value = value[int(key)]
        else:
            value = value[key] if isinstance(value, Mapping) else getattr(value, key)
    return value


@pytest.mark.parametrize("kind", ["detignore", "experiments", "master", "agent", "values"])
def test_each_file_has_its_row(kind: str) -> None:
    files = {file.name for file in (REAL / kind).iterdir()} - {"expected.yaml"}
    assert files == set(expected(kind))


@pytest.mark.parametrize("name", expected("detignore"))
def test_an_ignore_file_leaves_out_these_files(name: str, tmp_path: Path) -> None:
    row = expected("detignore")[name]
    for path in [*row["sent"], *row["ignored"]]:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("x")
    (tmp_path / ".detignore").write_bytes((REAL / "detignore" / name).read_bytes())
    sent = {item["path"] for item in context.read(tmp_path)}
    assert sent.issuperset(row["sent"])
    assert sent.isdisjoint(row["ignored"])


@pytest.mark.parametrize("name", expected("experiments"))
def test_an_experiment_configuration_has_these_values_or_is_refused(name: str) -> None:
    submitted = parse_yaml((REAL / "experiments" / name).read_text()).value
    row = expected("experiments")[name]
    if "refused" in row:
        with pytest.raises(ConfigErrors, match=re.escape(row["refused"])):
            build_experiment(submitted, layers=LAYERS, seed=7, name="x")
        return
    config = build_experiment(submitted, layers=LAYERS, seed=7, name="x").config
    assert {path: at(config, path) for path in row} == row


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind in DAEMONS for name in expected(kind)]
)
def test_a_file_of_settings_has_these_values_or_errors(
    kind: str, name: str, tmp_path: Path
) -> None:
    text = (REAL / kind / name).read_text()
    row = expected(kind)[name]
    if "errors" in row:
        errors = DAEMONS[kind].errors(tmp_path, text)
        assert [error.partition(":")[0] for error in errors] == row["errors"]
        return
    settings: Any = DAEMONS[kind].read(tmp_path, text)
    settings = getattr(settings, "settings", settings)
    assert {path: at(settings, path) for path in row["values"]} == row["values"]


@pytest.mark.slow
@pytest.mark.parametrize("name", expected("values"))
def test_a_file_of_values_of_the_chart_has_these_settings_or_is_refused(
    name: str, tmp_path: Path
) -> None:
    values = YAML(typ="safe").load((REAL / "values" / name).read_text())
    row = expected("values")[name]
    if "refused" in row:
        assert row["refused"] in refusal(values, tmp_path)
        return
    objects = render(values, tmp_path)
    settings = settings_of(objects, tmp_path)
    assert {path: at(settings, path) for path in row["values"]} == row["values"]
