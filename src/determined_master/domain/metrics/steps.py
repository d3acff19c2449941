"""Steps in packed rows: 32 bits each where all of a row fit, else 64.

A row's own lowest and highest steps say which of the two it has. Rows of releases whose steps had
32 bits stay as they are, and no others become larger.
"""

from __future__ import annotations

from typing import Literal

StepCode = Literal["i", "q"]
"""The letter of an integer's size in `struct`."""
_LOW, _HIGH = -(2**31), 2**31 - 1


def step_code(first_steps: int, last_steps: int) -> StepCode:
    """How the steps of a row with this range are packed."""
    return "i" if first_steps >= _LOW and last_steps <= _HIGH else "q"
