"""How often Python looks for garbage in cycles."""

from __future__ import annotations

import gc

NEW_OBJECTS_A_COLLECTION = 50_000
"""Objects that one scan takes; more would block the loop for longer than some milliseconds."""


def tune_garbage_collector() -> None:
    """Run the cyclic garbage collector rarely, and never on objects that exist now.

    A request of 1,000 lines creates thousands of objects, none of them in a cycle. With Python's
    threshold of 700 a fifth of the time was spent in the collector, and a tenth of that of the
    imports.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS_A_COLLECTION, 20, 50)
