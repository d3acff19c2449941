"""The place of a training in its checkpoint: epochs, batches, generators, callbacks."""

from __future__ import annotations

import json
import os
import pathlib
import pickle
from typing import Any, Dict, List, NamedTuple, Union

from determined._frameworks.generators import get_rng_state, set_rng_state
from determined.keras._keras import keras
from determined.keras.callbacks import Callback

PLACE_FILE = "determined_keras.json"
WEIGHTS_FILE = "model.weights.h5"


class Place(NamedTuple):
    """How far a training is."""

    continue_id: Union[int, str]
    """Of the training; another one takes the weights alone."""
    epochs: int
    batches: int
    is_finished: bool
    """Whether it has ended by itself, before the last epoch of `fit` perhaps."""


def save(
    directory: pathlib.Path, place: Place, model: Any, callbacks: List[Callback], rank: int
) -> None:
    """Write the place, and what this rank needs to continue with the next batch exactly."""
    if rank == 0:
        (directory / PLACE_FILE).write_text(json.dumps(place._asdict()))
    state = {
        "rng": get_rng_state(),
        "seeds": [_array(variable) for variable in seeds_of(model)],
        "callbacks": [(type(one).__name__, one.get_state()) for one in callbacks],
    }
    with open(_state_file(directory, rank), "wb") as file:
        pickle.dump(state, file)


def read_place(directory: pathlib.Path, uuid: str) -> Place:
    """The place that a checkpoint has.

    Raises:
        ValueError: another program than `DeterminedCallback` has stored it.
    """
    try:
        return Place(**json.loads((directory / PLACE_FILE).read_text()))
    except (FileNotFoundError, TypeError, ValueError) as error:
        files = ", ".join(sorted(os.listdir(directory))) or "no file"
        raise ValueError(
            f"checkpoint {uuid} was not stored by determined.keras.DeterminedCallback: it "
            f"has {files}, and no {PLACE_FILE} that can be read"
        ) from error


def restore(directory: pathlib.Path, model: Any, callbacks: List[Callback], rank: int) -> None:
    """Continue as `save` was called; a rank that was not there keeps its generators."""
    path = _state_file(directory, rank)
    if not path.exists():
        return
    with open(path, "rb") as file:
        state: Dict[str, Any] = pickle.load(file)
    set_rng_state(state["rng"])
    seeds = seeds_of(model)
    if len(seeds) == len(state["seeds"]):
        for variable, value in zip(seeds, state["seeds"]):
            variable.assign(value)
    stored = list(state["callbacks"])
    for one in callbacks:
        for item in stored:
            if item[0] == type(one).__name__:
                one.load_state(item[1])
                stored.remove(item)
                break


def seeds_of(model: Any) -> List[Any]:
    """The variables that hold the seeds of the model's layers; a file of weights lacks them."""
    others = {id(variable) for variable in (*model.weights, *model.metrics_variables)}
    return [variable for variable in model.variables if id(variable) not in others]


def variables_of(optimizer: Any) -> List[Any]:
    """The values of an optimizer's variables, by which `set_variables` puts them back."""
    return [] if optimizer is None else [_array(variable) for variable in optimizer.variables]


def set_variables(optimizer: Any, values: List[Any]) -> None:
    """Undo what has been loaded into an optimizer."""
    if optimizer is not None:
        for variable, value in zip(optimizer.variables, values):
            variable.assign(value)


def _array(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable.value).copy()


def _state_file(directory: pathlib.Path, rank: int) -> pathlib.Path:
    return directory / f"training_state.{rank}.pkl"
