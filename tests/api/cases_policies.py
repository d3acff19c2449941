"""Cases of config policies."""

from __future__ import annotations

from tests.api.cases_projects import a_workspace
from tests.api.samples import Case

CASES: dict[str, Case] = {
    # A limit that stops no later sample.
    "config_policies.put": Case(request={"configPolicies": "constraints:\n  priority_limit: 1\n"}),
    "config_policies.get": Case(a_workspace),
}
