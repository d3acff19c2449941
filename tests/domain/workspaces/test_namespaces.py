"""Names of the namespaces that are made for workspaces."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covers import covers

from determined_master.domain.workspaces.namespaces import auto_name
from determined_master.settings.kubernetes.names import is_dns_label

CLUSTER = "6f1e0c2a-0000-0000-0000-000000000000"


@covers("helm-and-kubernetes 16.made")
@pytest.mark.parametrize(
    ("workspace", "name"),
    [
        ("Vision", "vision-det-6f1e-7"),
        ("Ünï & Cø", "uni-c-det-6f1e-7"),
        ("_", "det-6f1e-7"),
        ("a" * 40, "a" * 31 + "-det-6f1e-7"),
    ],
)
def test_the_name_identifies_the_owner(workspace: str, name: str) -> None:
    assert auto_name(workspace, 7, "det", CLUSTER) == name


@covers("helm-and-kubernetes 16.made")
@settings(deadline=None)
@given(st.text(min_size=1, max_size=80), st.integers(1, 2**31 - 1), st.text(max_size=63))
def test_kubernetes_takes_every_name(workspace: str, number: int, release: str) -> None:
    assert is_dns_label(auto_name(workspace, number, release, CLUSTER))
