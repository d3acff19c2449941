"""Problems of a configuration in plain words."""

from __future__ import annotations

from determined.cli.config import problems

HEAD = (
    "invalid experiment configuration: version 0 experiment config is invalid: config is invalid: "
)


def test_each_problem_stands_on_a_line_of_its_own_without_words_of_schemas() -> None:
    listed = """<config>: additionalProperties "nam" not allowed; did you mean "name"?
<config>.entrypoint: expected string, array or null, but got integer
<config>.hyperparameters.b: base is a required property
<config>.bind_mounts[0].host_path: must be an absolute path but found "data"
<config>.resources.slots_per_trial: expected integer or null, but got string
and 3 more"""
    assert problems.in_lines(HEAD + listed).splitlines() == [
        "invalid experiment configuration:",
        '  unknown key "nam"; did you mean "name"?',
        "  entrypoint: must be text or a list, not a whole number",
        "  hyperparameters.b: missing: base",
        '  bind_mounts[0].host_path: must be an absolute path but found "data"',
        "  resources.slots_per_trial: must be a whole number, not text",
        "  and 3 more",
    ]


def test_other_errors_are_left_as_they_are() -> None:
    assert problems.in_lines("experiment '9' not found") == "experiment '9' not found"
