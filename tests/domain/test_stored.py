"""What is stored outlives the code that wrote it."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.domain.builders import T0

from determined_master.domain import messages
from determined_master.domain.allocation import messages as alloc
from determined_master.domain.experiment import messages as exp
from determined_master.domain.generic_task import messages as task
from determined_master.domain.interactive_task import messages as interactive
from determined_master.domain.search.records import SearchRecord
from determined_master.domain.trial import messages as trial

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
UNIONS: dict[str, Any] = {
    "allocation.event": alloc.AllocationEvent,
    "allocation.effect": alloc.AllocationOrder,
    "allocation.state": alloc.Allocation,
    "trial.event": trial.TrialEvent,
    "trial.effect": trial.TrialOrder,
    "trial.state": trial.Trial,
    "task.event": task.TaskEvent,
    "task.effect": task.TaskOrder,
    "task.state": task.GenericTask,
    "interactive.event": interactive.InteractiveEvent,
    "interactive.effect": interactive.InteractiveOrder,
    "interactive.state": interactive.InteractiveTask,
    "experiment.event": exp.ExperimentEvent,
    "experiment.effect": exp.ExperimentEffect,
    "experiment.record": SearchRecord,
    "experiment.state": exp.Experiment,
}
MEMBERS = [
    pytest.param(name, member, id=f"{name}:{member.__name__}")
    for name, union in UNIONS.items()
    for member in get_args(union) or (union,)
]


def strategy(member: type[Any]) -> st.SearchStrategy[Any]:
    """Any value of a struct, by the types of its fields."""
    fields = {f.name: of_type(f.type) for f in msgspec.inspect.type_info(member).fields}
    return st.fixed_dictionaries(fields).map(lambda values: member(**values))


i = msgspec.inspect
JSON_VALUES = st.dictionaries(st.text(max_size=5), st.integers(0, 9), max_size=2)
SIMPLE: dict[type[Any], st.SearchStrategy[Any]] = {
    i.IntType: st.integers(-(2**31), 2**31),
    i.DecimalType: st.decimals(allow_nan=False, allow_infinity=False),
    i.FloatType: st.floats(allow_nan=False, allow_infinity=False),
    i.StrType: st.text(max_size=20),
    i.BoolType: st.booleans(),
    i.NoneType: st.none(),
    i.DateTimeType: st.sampled_from([T0, T0 + timedelta(days=99, microseconds=1)]),
    i.DictType: JSON_VALUES,
    i.AnyType: JSON_VALUES,
    i.RawType: st.just(msgspec.Raw(b'{"event":"kill_expired"}')),
}


def of_type(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of a type as msgspec describes it."""
    match kind:
        case i.LiteralType():
            return st.sampled_from(kind.values)
        case i.UnionType():
            return st.one_of([of_type(t) for t in kind.types])
        case i.VarTupleType():
            return st.lists(of_type(kind.item_type), max_size=3).map(tuple)
        case i.TupleType():
            return st.tuples(*(of_type(t) for t in kind.item_types))
        case i.StructType():
            return strategy(kind.cls)
        case _:
            return SIMPLE[type(kind)]


@pytest.mark.parametrize(("name", "member"), MEMBERS)
@given(data=st.data())
@settings(max_examples=5, deadline=None)
def test_a_value_is_itself_again_after_it_was_stored(name, member, data) -> None:
    value = data.draw(strategy(member))
    text = msgspec.json.encode(value)
    again = msgspec.json.decode(text, type=UNIONS[name])
    assert type(again) is member
    assert again == value
    assert msgspec.json.encode(again) == text


@pytest.mark.parametrize("release", sorted(GOLDEN.glob("*.json")), ids=lambda path: path.stem)
def test_configurations_of_earlier_releases_are_read_in_full(release) -> None:
    samples = json.loads(release.read_text())
    assert samples
    for name, stored in samples.items():
        for sample in stored:
            value = msgspec.json.decode(json.dumps(sample), type=UNIONS[name])
            # A field that was renamed, or has another default now, is missing here.
            assert json.loads(msgspec.json.encode(value)) == sample


def test_every_message_has_a_sample_in_the_newest_golden_file() -> None:
    samples = json.loads((GOLDEN / "0.39.json").read_text())
    missing = []
    for parameter in MEMBERS:
        name, member = parameter.values
        tag = member.__struct_config__.tag
        field = member.__struct_config__.tag_field
        if not any(tag is None or sample[field] == tag for sample in samples[name]):
            missing.append(f"{name}: {tag}")
    assert missing == []


def test_the_event_of_a_timer_is_the_aggregates_own() -> None:
    order = messages.timer("kill_retry", 30, alloc.KillExpired())
    assert msgspec.json.decode(order.event, type=alloc.AllocationEvent) == alloc.KillExpired()
