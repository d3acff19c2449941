"""Changing a part of a stored configuration."""

import pytest

from determined_master.domain.config.edits import check_growth, edit_section
from determined_master.domain.config.schema.problems import ConfigErrors
from determined_master.domain.config.sizes import ConfigLimits
from determined_master.domain.config.template import check_template
from determined_master.domain.errors import InvalidArgument

CONFIG = {"resources": {"slots_per_trial": 2, "priority": 42, "devices": []}}


def test_unchanged_fields_stay() -> None:
    assert edit_section(CONFIG, "resources", {"priority": 7}) == {
        "slots_per_trial": 2,
        "priority": 7,
        "devices": [],
    }


def test_a_section_that_was_not_there_is_made() -> None:
    edited = edit_section(CONFIG, "retention_policy", {"log_retention_days": 3})
    assert edited == {"log_retention_days": 3}


@pytest.mark.parametrize(
    ("changes", "path"),
    [({"priority": 0}, "resources.priority"), ({"max_slots": 1}, "max_slots (1)")],
)
def test_a_wrong_value_or_one_that_does_not_fit_the_rest_is_named(changes, path) -> None:
    with pytest.raises(ConfigErrors, match=path.replace("(", r"\(").replace(")", r"\)")):
        edit_section(CONFIG, "resources", changes)


def test_a_template_may_have_keys_of_experiments_and_of_interactive_tasks() -> None:
    check_template(
        {
            "resources": {"slots": 1, "slots_per_trial": 2},
            "idle_timeout": "5m",
            "hyperparameters": {"lr": 1},
            "description": "both",
        }
    )


def test_a_template_with_mistakes_names_all_of_them() -> None:
    with pytest.raises(InvalidArgument) as refused:
        check_template({"max_restarts": "many", "nosuch": 1})
    assert "<template>.max_restarts" in refused.value.text
    assert "nosuch" in refused.value.text


def test_a_config_grows_up_to_its_limits_and_shrinks_from_above_them() -> None:
    limits = ConfigLimits(max_labels=2)
    one, two, three, four = ({"labels": ["x"] * count} for count in range(1, 5))
    check_growth(one, two, limits)
    check_growth(four, three, limits)
    check_growth(three, {**three, "labels": ["y"] * 3}, limits)
    for before, after in ((two, three), (three, four)):
        with pytest.raises(ConfigErrors, match=r"labels.*raise config_limits\.max_labels"):
            check_growth(before, after, limits)
