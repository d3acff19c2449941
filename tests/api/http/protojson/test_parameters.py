"""Values of queries and paths."""

from __future__ import annotations

import pytest

from determined_master.api.http.protojson import PathParameter, read_query
from determined_master.domain.errors import InvalidArgument
from determined_wire.rest.experiments import (
    GetExperimentsRequest,
    GetExperimentsRequestSortBy,
    PatchExperimentRequest,
    PauseExperimentRequest,
)
from determined_wire.rest.types.common import Int32FieldFilter
from determined_wire.rest.types.experiment import ExperimentState
from determined_wire.rest.users import GetUsersRequest


def query(*pairs: tuple[str, str]) -> dict[str, object]:
    return read_query(GetExperimentsRequest, pairs)


def test_lists_repeat_the_first_single_value_counts_and_unknown_names_are_ignored() -> None:
    assert query(
        ("states", "STATE_COMPLETED"),
        ("states", "8"),
        ("limit", "5"),
        ("limit", "6"),
        ("zip", "1"),
    ) == {"states": [ExperimentState.STATE_COMPLETED, ExperimentState(_name(8))], "limit": 5}


def test_both_cases_nested_names_and_wrappers_are_accepted() -> None:
    assert query(
        ("sort_by", "SORT_BY_ID"), ("archived.value", "true"), ("experimentIdFilter.gte", "205")
    ) == {
        "sort_by": GetExperimentsRequestSortBy.SORT_BY_ID,
        "archived": True,
        "experiment_id_filter": Int32FieldFilter(gte=205),
    }


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("limit", "abc", 'strconv.ParseInt: parsing "abc": invalid syntax'),
        ("limit", "", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit", "99999999999", 'strconv.ParseInt: parsing "99999999999": value out of range'),
        ("archived", "1", "bad BoolValue: 1"),
        ("archived", "", "bad BoolValue: "),
        ("sortBy", "BOGUS", "BOGUS is not a valid apiv1.GetExperimentsRequest_SortBy"),
        ("states", "a,b", "a,b is not a valid experimentv1.State"),
    ],
)
def test_values_of_the_wrong_type_are_named(name: str, value: str, text: str) -> None:
    with pytest.raises(InvalidArgument) as raised:
        query((name, value))
    assert raised.value.text == f"{text} (parameter {name})"


def test_a_nested_parameter_is_named_whole() -> None:
    with pytest.raises(InvalidArgument) as raised:
        query(("experimentIdFilter.gte", "x"))
    assert raised.value.text.endswith("invalid syntax (parameter experiment_id_filter.gte)")


def test_plain_booleans_are_read_as_the_public_api_does() -> None:
    assert read_query(GetUsersRequest, [("active", "1"), ("admin", "F")]) == {
        "active": True,
        "admin": False,
    }


def test_a_path_value_wins_and_reaches_into_messages() -> None:
    request = PatchExperimentRequest()
    PathParameter(PatchExperimentRequest, "experiment.id").put(request, "7")
    assert request.experiment is not None
    assert request.experiment.id == 7
    pause = PauseExperimentRequest(id=1)
    PathParameter(PauseExperimentRequest, "id").put(pause, "2")
    assert pause.id == 2
    with pytest.raises(InvalidArgument, match="type mismatch, parameter: id, error: strconv"):
        PathParameter(PauseExperimentRequest, "id").put(pause, "x")


def _name(number: int) -> str:
    return next(m.value for m in ExperimentState if m.number == number)
