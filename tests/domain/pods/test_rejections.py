"""Texts about pods that the API server refuses."""

from __future__ import annotations

import pytest

from determined_master.domain.pods.rejections import (
    delay,
    is_never_stored,
    is_over_quota,
    lost_marks,
    refusal,
)

FORBIDDEN = 'pods "det-1" is forbidden: '


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            FORBIDDEN + "maximum memory usage per Container is 1Gi, but limit is 2Gi",
            "a LimitRange of namespace lab does not admit the task's pod",
        ),
        (
            FORBIDDEN + "minimum cpu usage per Pod is 100m. No request is specified",
            "a LimitRange of namespace lab",
        ),
        (
            FORBIDDEN + "memory max limit to request ratio per Container is 2, but provided "
            "ratio is 4.000000",
            "a LimitRange of namespace lab",
        ),
        (
            FORBIDDEN + "failed quota: q: must specify limits.memory for: determined-container",
            "quota q of namespace lab admits only pods with limits.memory: set it for each "
            "container in resources of environment.pod_spec",
        ),
        (
            FORBIDDEN + 'User "x" cannot create resource "pods"',
            "the master may not create pods and secrets in namespace lab",
        ),
    ],
)
def test_quotas_and_ranges_are_no_missing_rights(text: str, said: str) -> None:
    found = refusal(403, frozenset(), text, "lab")
    assert said in found
    assert f"({text})" in found
    assert ("rights" in found) is ("may not create" in said)


def test_other_refusals_name_their_remedy() -> None:
    assert "does not exist: create it" in refusal(404, frozenset(), "x", "lab")
    assert "is being deleted" in refusal(403, frozenset({"NamespaceTerminating"}), "x", "lab")
    assert refusal(422, frozenset(), "maximum memory usage per Pod is 1", "lab").startswith(
        "Kubernetes rejects the task's pod: maximum"
    )


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('admission webhook "a.b" denied the request: no', 'admission webhook "a.b"'),
        (
            FORBIDDEN + "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
            "ValidatingAdmissionPolicy 'p'",
        ),
        (
            FORBIDDEN + 'violates PodSecurity "restricted:latest": runAsNonRoot != true',
            'PodSecurity "restricted:latest"',
        ),
        (
            FORBIDDEN + "PodSecurityPolicy: unable to admit pod: [privileged: Invalid value]",
            "PodSecurityPolicy",
        ),
        (
            FORBIDDEN + "unable to validate against any security context constraint: [x]",
            "any security context constraint",
        ),
    ],
)
@pytest.mark.parametrize("status", [400, 403, 422])
def test_a_policy_is_named_with_who_can_exempt_from_it(status: int, text: str, named: str) -> None:
    found = refusal(status, frozenset(), text, "lab")
    assert found == (
        "a policy of the cluster does not admit the task's pod in namespace lab: change "
        "environment.pod_spec as it says, or let an admin exempt the namespace from "
        f"{named} ({text})"
    )


def test_a_missing_account_of_the_pod_is_no_missing_right_of_the_master() -> None:
    text = FORBIDDEN + 'error looking up service account lab/x: serviceaccount "x" not found'
    found = refusal(403, frozenset(), text, "lab")
    assert found == f"Kubernetes rejects the task's pod: {text}; check environment.pod_spec"


def test_a_delay_has_a_remedy_where_it_does_not_pass_by_itself() -> None:
    assert delay("HTTP 503 shutting down").endswith("is tried again: HTTP 503 shutting down")
    assert "defragment etcd" in delay("etcdserver: mvcc: database space exceeded")
    assert "repair that webhook" in delay('failed calling webhook "x": connection refused')


def test_only_the_platforms_own_marks_of_a_pod_are_compared() -> None:
    sent = {
        "labels": {"determined": "a", "determined.ai/task_id": "t", "determined.ai/user": "x"},
        "annotations": {"determined.ai/node": "n", "note": "y"},
    }
    more = {"labels": {**sent["labels"], "mesh": "on", "determined.ai/user": "z"}}
    assert lost_marks(sent, {**more, "annotations": {"determined.ai/node": "n"}}) == ""
    changed = {"labels": {**sent["labels"], "determined": "b"}}
    assert "its label determined is 'b' in place of 'a'" in lost_marks(sent, changed)
    assert "its annotation determined.ai/node is missing" in lost_marks(sent, more)


def test_only_a_full_quota_admits_the_pod_later() -> None:
    full = FORBIDDEN + "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
    assert is_over_quota(403, full)
    assert not is_over_quota(422, full)
    assert not is_over_quota(403, FORBIDDEN + "failed quota: q: must specify limits.memory")


@pytest.mark.parametrize(
    ("status", "text", "is_lasting"),
    [
        (500, "rpc error: code = ResourceExhausted desc = trying to send message larger than max "
         "(2099503 vs. 2097152)", True),
        (500, "etcdserver: request is too large", True),
        (413, "Request entity too large: limit is 3145728", False),
    ],
)  # fmt: skip
def test_a_pod_that_is_too_large_is_refused_for_good(
    status: int, text: str, is_lasting: bool
) -> None:
    assert refusal(status, frozenset(), text, "lab").startswith(
        "the task's pod is too large for Kubernetes: shorten environment.pod_spec"
    )
    assert is_never_stored(text) is is_lasting


def test_a_list_that_is_too_large_for_once_is_no_refusal() -> None:
    assert not is_never_stored("rpc error: grpc: received message larger than max (9 vs. 8)")
