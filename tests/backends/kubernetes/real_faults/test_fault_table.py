"""The faults of a real cluster, and the tests that cause them."""

from __future__ import annotations

import pytest
from tests.named_tests import exists, runs_on_a_real_cluster

CONTRACT = "tests/contracts/kubernetes::"
FAULTS_CONTRACT = "tests/contracts/kubernetes_faults_contract.py::"
HERE = "tests/backends/kubernetes/real_faults/"
WEBHOOKS = "tests/backends/kubernetes/test_real_webhooks.py::"
TASKS = "tests/e2e/test_kubernetes.py::"
BEHIND = {
    "tests/contracts/kubernetes": "tests/backends/kubernetes/test_backend.py",
    "tests/contracts/kubernetes_faults_contract.py": f"{HERE}test_overload.py",
}
"""Modules and packages without tests of their own, by the module that runs them on a real one."""

FAULTS = {
    "the API server is away and back": [
        f"{HERE}test_outages.py::test_a_real_api_server_that_is_away_and_back_loses_nothing",
        f"{HERE}test_outages.py::"
        "test_a_pod_that_is_deleted_while_the_real_api_server_is_away_is_lost_then",
    ],
    "a watch has expired (410)": [
        f"{HERE}test_outages.py::"
        "test_a_version_that_a_real_api_server_has_forgotten_is_listed_again"
    ],
    "429, 409, 500 and 503 of every call": [
        f"{FAULTS_CONTRACT}test_a_failure_of_every_call_loses_and_doubles_nothing",
        f"{FAULTS_CONTRACT}test_a_request_is_repeated_when_the_server_asks_for_it",
    ],
    "etcd is full": [
        f"{HERE}test_storage.py::"
        "test_a_real_etcd_that_is_full_is_named_with_the_remedy_which_works"
    ],
    "a node is lost": [
        f"{HERE}test_nodes.py::test_a_real_node_that_dies_is_lost_and_its_pods_keep_their_slots"
    ],
    "a node is cordoned": [f"{CONTRACT}test_a_cordon_ends_nothing_and_keeps_the_nodes_place"],
    "a node is tainted": [
        f"{HERE}test_nodes.py::test_a_taint_for_new_pods_ends_nothing_and_is_no_lost_node"
    ],
    "a node is drained": [
        f"{HERE}test_nodes.py::test_a_drain_by_kubectl_ends_the_pods_of_that_node_alone"
    ],
    "a kubelet restarts": [
        f"{HERE}test_kubelet.py::test_a_real_kubelet_that_restarts_loses_no_task"
    ],
    "a pod is deleted by hand": [
        f"{CONTRACT}test_a_pod_that_somebody_deletes_is_lost",
        f"{CONTRACT}test_a_pod_deleted_by_others_is_lost_whatever_its_status",
        f"{TASKS}"
        "test_a_trial_whose_pod_is_drained_while_no_master_is_there_starts_again_uncounted",
    ],
    "a pod is evicted": [
        f"{HERE}test_pods.py::test_a_pod_that_is_evicted_by_the_api_is_asked_to_save_and_is_lost"
    ],
    "a master is killed while 50 pods run, and again while they end": [
        "tests/e2e/test_many_pods.py::"
        "test_a_master_killed_twice_among_many_pods_loses_and_doubles_none"
    ],
    "an image is nowhere": [f"{CONTRACT}test_an_image_that_is_nowhere_ends_it_with_its_name"],
    "an init container fails": [
        f"{HERE}test_pods.py::test_an_init_container_of_a_real_pod_that_fails_is_named"
    ],
    "a volume is missing": [
        f"{HERE}test_pods.py::test_a_volume_claim_that_does_not_exist_is_named",
        f"{CONTRACT}test_a_pod_whose_volume_is_missing_is_withdrawn_with_kubernetes_reason",
    ],
    "a quota is full": [
        f"{CONTRACT}test_quotas_are_known_with_their_use_and_a_full_one_is_no_missing_right",
        f"{TASKS}test_a_full_quota_holds_no_slots_and_is_named",
    ],
    "a namespace goes": [
        f"{CONTRACT}test_a_namespace_that_is_being_deleted_takes_nothing_and_is_named"
    ],
    "a webhook refuses a pod": [
        f"{WEBHOOKS}test_a_webhook_that_refuses_a_pod_is_named_with_its_text"
    ],
    "a webhook changes a pod": [
        f"{WEBHOOKS}test_a_webhook_that_takes_the_mark_of_a_pod_is_named_and_no_pod_is_left"
    ],
    "a policy forbids a privileged pod": [
        f"{HERE}test_policies.py::"
        "test_a_pod_spec_that_a_real_policy_forbids_is_refused_with_its_text"
    ],
    "clocks are apart": [
        f"{HERE}test_outages.py::"
        "test_a_clock_apart_from_that_of_a_real_cluster_changes_no_deadline"
    ],
    "two masters use one cluster": [
        f"{CONTRACT}test_two_masters_on_one_cluster_leave_each_others_objects_alone"
    ],
    "names of 63 characters and more": [f"{CONTRACT}test_names_are_as_long_as_kubernetes_allows"],
    "a trial that needs more nodes than there are": [
        "tests/e2e/test_real_hollow_nodes.py::"
        "test_on_three_nodes_of_four_gpus_a_trial_of_four_nodes_waits_and_holds_nothing"
    ],
    "an autoscaler that adds no node for a trial": [
        "tests/e2e/test_real_demand.py::test_a_job_that_waits_for_nodes_leaves_the_others_theirs"
    ],
    "two trials that need all nodes": [
        "tests/e2e/test_real_hollow_nodes.py::"
        "test_of_two_trials_of_twelve_gpus_on_twelve_one_runs_and_then_the_other"
    ],
    "a pod above the size of etcd's requests": [
        f"{HERE}test_storage.py::"
        "test_a_pod_that_etcd_or_the_api_server_does_not_take_fails_with_the_reason"
    ],
    "a Secret above 1 MiB": [
        f"{HERE}test_storage.py::"
        "test_a_secret_of_one_mib_is_taken_by_a_real_cluster_and_a_larger_one_is_named"
    ],
}
TESTS = sorted({test for tests in FAULTS.values() for test in tests})


@pytest.mark.parametrize("test", TESTS)
def test_a_test_of_the_table_exists(test: str) -> None:
    assert exists(test)


@pytest.mark.parametrize("test", TESTS)
def test_the_suite_of_a_real_cluster_runs_the_module_of_a_test(test: str) -> None:
    module = test.partition("::")[0]
    assert runs_on_a_real_cluster(BEHIND.get(module, module))
