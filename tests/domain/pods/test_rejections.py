"""Texts about pods that the API server refuses."""

from __future__ import annotations

import pytest

from determined_master.domain.pods.rejections import is_over_quota, refusal

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


def test_only_a_full_quota_admits_the_pod_later() -> None:
    full = FORBIDDEN + "exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"
    assert is_over_quota(403, full)
    assert not is_over_quota(422, full)
    assert not is_over_quota(403, FORBIDDEN + "failed quota: q: must specify limits.memory")
