"""The chart refuses settings that the master would refuse, in its words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML
from tests.deploy.helm.rendering import CHART, refusal
from tools.generate_chart_defaults import settings

from determined_master.settings.master import load
from determined_wire.settings_reader import SettingsError

pytestmark = pytest.mark.slow
REFUSED = {
    "a namespace": {"pool_name": "a", "kubernetes_namespace": "gpu"},
    "an empty namespace": {"pool_name": "a", "kubernetes_namespace": ""},
    "an unknown key": {"pool_name": "a", "max_slots": 1},
}


def refusal_of_master(pool: dict[str, Any], directory: Path) -> str:
    file = directory / "master.yaml"
    manager = {
        **{"type": "kubernetes", "max_slots_per_pod": 1},
        **{"default_aux_resource_pool": "a", "default_compute_resource_pool": "a"},
    }
    with file.open("w") as out:
        YAML().dump({"resource_manager": manager, "resource_pools": [pool]}, out)
    with pytest.raises(SettingsError) as error:
        load([], {"DET_CONFIG_FILE": str(file)}, is_root=False)
    return str(error.value).splitlines()[-1].strip()


def test_the_settings_of_the_chart_are_those_of_the_master() -> None:
    """Otherwise run `make docs`."""
    assert YAML(typ="safe").load((CHART / "settings.yaml").read_text()) == settings()


@pytest.mark.parametrize("name", REFUSED)
def test_a_key_of_a_pool_is_refused_in_the_words_of_the_master(name: str, tmp_path: Path) -> None:
    pool = REFUSED[name]
    text = refusal_of_master(pool, tmp_path)
    assert text.startswith("root.resource_pools")
    assert text in refusal({"maxSlotsPerPod": 1, "resourcePools": [pool]}, tmp_path)
    further = {
        "resource_manager": {
            **{"type": "kubernetes", "name": "far", "max_slots_per_pod": 1},
            **{"kubeconfig_secret_name": "far", "kubeconfig_secret_value": "config"},
        },
        "resource_pools": [pool],
    }
    values = {"maxSlotsPerPod": 1, "additional_resource_managers": [further]}
    assert text in refusal(values, tmp_path)


def test_an_unknown_setting_of_the_master_is_refused(tmp_path: Path) -> None:
    text = refusal({"maxSlotsPerPod": 1, "masterConfig": {"nope": 1}}, tmp_path)
    assert "masterConfig: root.nope: unknown option" in text
