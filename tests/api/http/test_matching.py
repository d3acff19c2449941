"""Finding the route of a raw path."""

from __future__ import annotations

import pytest

from determined_master.api.http.matching import PathTable


def table() -> PathTable[str]:
    made: PathTable[str] = PathTable()
    for path in (
        "/",
        "/me",
        "/trials/{id}",
        "/trials/time-series",
        "/trials/{id}/logs",
        "/trials/{metrics.trial_id}/metrics",
        "/trials/metrics/all",
        "/files/{path*}",
        "/det/{path**}",
        "/models/{model_name}",
        "/models/{model_name}/versions/{n}",
        "/experiments/{id}/labels/{label}",
        "/users/{id}",
        "/users/{username}/by-username",
    ):
        made.add("GET", path, path)
    return made


def found(raw_path: bytes) -> tuple[str, tuple[str, ...]] | None:
    match = table().find(raw_path)
    return None if match is None else (match.targets["GET"], match.values)


def test_a_literal_wins_over_a_parameter() -> None:
    assert found(b"/trials/time-series") == ("/trials/time-series", ())
    assert found(b"/trials/7") == ("/trials/{id}", ("7",))


def test_a_literal_that_leads_nowhere_is_tried_as_a_parameter() -> None:
    assert found(b"/trials/metrics/logs") == ("/trials/{id}/logs", ("metrics",))
    assert found(b"/trials/metrics/all") == ("/trials/metrics/all", ())


def test_dotted_parameters_are_parameters() -> None:
    assert found(b"/trials/7/metrics") == ("/trials/{metrics.trial_id}/metrics", ("7",))


def test_values_are_decoded_after_the_match() -> None:
    assert found(b"/trials/a%20b+c%C3%A9") == ("/trials/{id}", ("a b+cé",))


@pytest.mark.parametrize("raw", [b"/trials/7%2Flogs", b"/trials/7%2flogs"])
def test_an_encoded_slash_belongs_to_a_value_and_reaches_no_other_route(raw: bytes) -> None:
    assert found(raw) == ("/trials/{id}", ("7/logs",))


@pytest.mark.parametrize("raw", [b"/trials/", b"//me", b"/me/", b"/trials//logs", b"/no", b""])
def test_empty_segments_and_unknown_paths_match_nothing(raw: bytes) -> None:
    assert found(raw) is None


def test_a_rest_takes_all_that_follows() -> None:
    assert found(b"/det/a/b/c.js") == ("/det/{path**}", ("a/b/c.js",))
    assert found(b"/files/a/b") == ("/files/{path*}", ("a/b",))


def test_only_an_optional_rest_stands_for_nothing() -> None:
    assert found(b"/det") == ("/det/{path**}", ("",))
    assert found(b"/files") is None
    assert found(b"/") == ("/", ())


@pytest.mark.parametrize(
    ("raw", "path", "values"),
    [
        (b"/models/a/b", "/models/{model_name}", ("a/b",)),
        (b"/models/a//b%20c", "/models/{model_name}", ("a//b c",)),
        (b"/models/a/versions/1", "/models/{model_name}/versions/{n}", ("a", "1")),
        (b"/models/a/b/versions/1", "/models/{model_name}/versions/{n}", ("a/b", "1")),
        (b"/experiments/7/labels/a/b", "/experiments/{id}/labels/{label}", ("7", "a/b")),
        (b"/users/a/b/by-username", "/users/{username}/by-username", ("a/b",)),
    ],
)
def test_a_name_may_have_plain_slashes(raw: bytes, path: str, values: tuple[str, ...]) -> None:
    assert found(raw) == (path, values)


@pytest.mark.parametrize("raw", [b"/models/a/", b"/models//", b"/users/1/2", b"/trials/7/8/logs"])
def test_a_parameter_that_is_no_name_is_one_segment(raw: bytes) -> None:
    assert found(raw) is None


def test_a_path_of_slashes_costs_no_more_than_its_length() -> None:
    assert found(b"/models" + b"/a" * 100_000 + b"/versions/1") is not None
    assert found(b"/models" + b"/" * 100_000) is None
