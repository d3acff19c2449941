"""What the page on configurations shows is a configuration."""

from __future__ import annotations

import pytest
from tests.domain.config.builders import LAYERS
from tests.domain.config.test_json_schema import refused
from tests.pages import examples

from determined_master.domain.config.experiment import build_experiment
from determined_master.domain.config.policies.text import check_policies
from determined_master.settings.yaml_text import parse_yaml

EXAMPLES = examples("configuration.md")
POLICIES = examples("configuration.md", "yaml policies")


@pytest.mark.parametrize("text", EXAMPLES, ids=lambda text: text.split("\n")[0])
def test_an_example_is_taken_without_a_warning(text: str) -> None:
    parsed = parse_yaml(text)
    built = build_experiment(parsed.value, layers=LAYERS, seed=1, name="x")
    assert (parsed.warnings, built.warnings) == ((), ())
    assert refused(parsed.value) == []


def test_the_page_has_examples() -> None:
    assert len(EXAMPLES) >= 2
    assert len(POLICIES) == 1


@pytest.mark.parametrize("text", POLICIES)
def test_an_example_of_policies_can_be_set(text: str) -> None:
    policy = check_policies(parse_yaml(text).value, "EXPERIMENT", scope="the cluster")
    assert (policy.max_slots, policy.priority_limit) == (16, 30)
