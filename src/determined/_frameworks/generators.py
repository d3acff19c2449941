"""The states of the random generators that a training may use."""

from __future__ import annotations

import random
import sys
from typing import Any, Dict

import numpy as np


def get_rng_state() -> Dict[str, Any]:
    """The states of Python's and NumPy's generators, and of PyTorch's if it is imported.

    Generators of Keras belong to layers, not to this state.
    """
    state: Dict[str, Any] = {"python": random.getstate(), "numpy": np.random.get_state()}
    torch = sys.modules.get("torch")
    if torch is not None:
        state["torch"] = torch.get_rng_state().numpy()
        if torch.cuda.is_available():
            state["cuda"] = [one.cpu().numpy() for one in torch.cuda.get_rng_state_all()]
    return state


def set_rng_state(rng_state: Dict[str, Any]) -> None:
    """Set the states that `get_rng_state` returned; of a library not imported here, none."""
    random.setstate(rng_state["python"])
    np.random.set_state(rng_state["numpy"])
    torch = sys.modules.get("torch")
    if torch is None:
        return
    if "torch" in rng_state:
        torch.set_rng_state(torch.from_numpy(rng_state["torch"]))
    states = rng_state.get("cuda", [])
    if torch.cuda.is_available() and len(states) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([torch.from_numpy(one) for one in states])
