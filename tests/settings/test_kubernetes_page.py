"""The examples of the pages on Kubernetes are settings of a master, and configurations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests import pages
from tests.domain.config.builders import LAYERS, submission
from tests.master_settings import read
from tests.named_tests import exists, runs_on_a_real_cluster

from determined_master.domain.config.experiment import PoolLayer, build_experiment
from determined_master.settings.yaml_text import parse_yaml

TEXTS = [text for page in pages.KUBERNETES for text in pages.examples(page)]
EXAMPLES = [parse_yaml(text).value for text in TEXTS]
SETTINGS = [one for one in EXAMPLES if "resource_manager" in one]
CONFIGS = [one for one in EXAMPLES if "resource_manager" not in one]
_HERE = "tests/e2e/test_kubernetes_page.py::"
SHOWN = {
    "default_namespace": f"{_HERE}test_a_pod_has_the_labels_and_the_variables_that_the_page_names",
    "device_class": f"{_HERE}test_devices_of_a_class_need_a_cluster_that_has_them",
    "topology": f"{_HERE}test_a_trial_that_requires_a_rack_runs_in_one",
    "autoscaling": f"{_HERE}test_nodes_are_asked_for_a_task_that_fits_nowhere",
    "queue_name": f"{_HERE}test_a_pool_of_kueue_needs_kueue",
    "pod_spec": f"{_HERE}test_the_pod_spec_of_the_page_waits_for_memory_and_mounts_its_claim",
    "internal_task_gateway": "tests/e2e/test_gateway.py::"
    "test_pages_of_two_tasks_are_got_and_a_third_waits_for_a_port",
}
"""The test that uses an example on a real cluster, by a key that only this example has."""
MENTIONED = [
    command
    for page in pages.KUBERNETES
    for command in pages.mentions(page, "det ", "kubectl ", "helm ", "pip ", "tests/kubernetes.sh")
]
RUN = (
    "det agent disable",
    "det agent enable",
    "det agent list",
    "det job why",
    "det resource-pool list",
    "kubectl delete secrets -A -l determined.ai/cluster_id=ID",
    "kubectl exec POD -- env",
)
"""Commands of the page that tests/e2e/test_kubernetes_page.py runs, by their beginning."""
NOT_RUN = {
    "kubectl apply --server-side": "tests/e2e/test_gateway.py makes its Gateway through the API",
    "kubectl cordon": "the suite of tests/contracts/kubernetes cordons a node",
    "kubectl drain": "tests/backends/kubernetes/real_faults/test_nodes.py runs it",
    "kubectl port-forward": "tests/e2e/test_remote_kubernetes.py has a master that does the same",
    "pip install": "the image of the master in tests/deploy/helm has these packages",
    "tests/kubernetes.sh": "it runs the tests of this page",
}
"""Commands of the page that are not run there, by their beginning, and why."""
LIMITS = {
    "allowed_host_paths": [],
    "allowed_capabilities": [],
    "allowed_devices": [],
    "allow_root": False,
}


def merged(base: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """An example that shows a part, with the rest of the first one."""
    found = dict(base)
    for key, value in more.items():
        inner = found.get(key)
        is_section = isinstance(inner, Mapping) and isinstance(value, Mapping)
        found[key] = merged(inner, value) if is_section else value
    return found


def test_the_page_has_examples_of_both_kinds() -> None:
    assert len(SETTINGS) >= 4
    assert len(CONFIGS) >= 2


@pytest.mark.parametrize("example", SETTINGS, ids=lambda one: ",".join(one["resource_manager"]))
def test_an_example_of_settings_is_read_without_a_warning(
    tmp_path: Path, example: dict[str, Any]
) -> None:
    whole = merged(SETTINGS[0], example)
    settings = read(tmp_path, json.dumps({**whole, "task_container_defaults": LIMITS}))
    assert settings.warnings == ()


@pytest.mark.parametrize("example", CONFIGS, ids=lambda one: ",".join(one))
def test_an_example_of_a_configuration_is_taken_without_a_warning(example: dict[str, Any]) -> None:
    layers = msgspec.structs.replace(LAYERS, pools={"default": PoolLayer(places_pods=True)})
    built = build_experiment(submission(**example), layers=layers, seed=1, name="x")
    assert built.warnings == ()


def test_each_example_is_used_on_a_real_cluster() -> None:
    keys = [[key for key in SHOWN if f"{key}:" in text] for text in TEXTS]
    assert sorted(key for found in keys for key in found) == sorted(SHOWN)
    assert [len(found) for found in keys] == [1] * len(TEXTS)


@pytest.mark.parametrize("test", SHOWN.values())
def test_the_suite_of_a_real_cluster_has_the_test_of_an_example(test: str) -> None:
    assert exists(test)
    assert runs_on_a_real_cluster(test.partition("::")[0])


def test_each_command_is_run_on_a_real_cluster_or_has_a_reason() -> None:
    assert [line for page in pages.KUBERNETES for line in pages.commands(page)] == []
    assert pages.unexplained(MENTIONED, RUN, NOT_RUN) == []


def test_the_lists_of_commands_have_no_stale_entry() -> None:
    assert pages.stale(MENTIONED, [*RUN, *NOT_RUN]) == []
