"""A cluster whose roles are on, for the journeys that need one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.cluster import Cluster
from tests.e2e.conftest import running
from tests.webui.chromium import reason_to_skip

SIGNING_KEY = "secret of the webhooks"
SETTINGS = f"""
security: {{authz: {{type: rbac}}}}
webhooks: {{signing_key: {SIGNING_KEY}, allowed_networks: [127.0.0.0/8]}}
"""


@pytest.fixture(scope="session")
def ruled() -> Iterator[Cluster]:
    """Users have the rights of their roles; webhooks may lead to this machine."""
    missing = reason_to_skip()
    if missing:
        pytest.skip(missing)
    with running(slots=2, settings=SETTINGS) as cluster:
        yield cluster
