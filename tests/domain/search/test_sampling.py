import pytest
from tests.covers import covers

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Const,
    Double,
    Hyperparameter,
    Int,
    LogScale,
    Nested,
)
from determined_master.domain.search.decision import SearchError
from determined_master.domain.search.sampling import check_space, draw_point, draw_trial
from determined_master.domain.search.stream import Stream


@covers("experiment-config 10.draw_order 6.create")
def test_a_trial_draws_its_point_by_name_then_its_id_then_its_seed() -> None:
    space = {"b": Int(minval=0, maxval=9), "a": Double(minval=0, maxval=1), "c": Const("x")}
    trial = draw_trial(Stream(42), space)

    stream = Stream(42)
    a, b = stream.double(), stream.up_to(9)
    assert trial.hparams == {"a": a, "b": b, "c": "x"}
    assert trial.request_id == stream.uuid4()
    assert trial.seed == stream.up_to(2**31 - 1)


@covers("experiment-config 10.nested")
def test_members_of_a_group_are_drawn_where_the_group_stands_in_sorted_order() -> None:
    leaf = Int(minval=0, maxval=10**9)
    nested = draw_point(
        Stream(1), {"z": leaf, "m": Nested(children={"y": leaf, "x": leaf}), "a": leaf}
    )
    flat = draw_point(Stream(1), {"a": leaf, "m.x": leaf, "m.y": leaf, "z": leaf})
    assert nested == {
        "a": flat["a"],
        "m": {"x": flat["m.x"], "y": flat["m.y"]},
        "z": flat["z"],
    }


@covers("experiment-config 4.int")
def test_int_includes_both_ends() -> None:
    stream = Stream(3)
    drawn = {draw_point(stream, {"n": Int(minval=-2, maxval=1)})["n"] for _ in range(200)}
    assert drawn == {-2, -1, 0, 1}


@covers("experiment-config 4.double 4.log 26.half_open")
def test_double_and_log_stay_within_their_range() -> None:
    stream = Stream(3)
    space = {"d": Double(minval=2, maxval=3), "l": LogScale(minval=-3, maxval=-1, base=10)}
    points = [draw_point(stream, space) for _ in range(500)]
    assert all(2 <= p["d"] < 3 and 1e-3 <= p["l"] < 1e-1 for p in points)
    low = sum(p["l"] < 1e-2 for p in points)
    assert 200 < low < 300  # uniform in the exponent: half below its middle


@covers("experiment-config 4.categorical")
def test_categorical_draws_every_value() -> None:
    stream = Stream(3)
    space = {"c": Categorical(vals=("a", None, [1]))}
    drawn = [draw_point(stream, space)["c"] for _ in range(100)]
    assert all(value in drawn for value in ("a", None, [1]))


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (Categorical(vals=()), "vals is empty"),
        (Int(minval=3, maxval=1), "minval 3 is above maxval 1"),
        (LogScale(minval=-1, maxval=400, base=10), "to the power 400"),
        (LogScale(minval=-1, maxval=0, base=0), "base 0 must be above 0"),
    ],
)
def test_a_space_without_points_is_refused_by_name(spec: Hyperparameter, words: str) -> None:
    with pytest.raises(SearchError, match=f"hyperparameter group.name: .*{words}"):
        check_space({"group": Nested(children={"name": spec})})
