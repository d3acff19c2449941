"""Cases of previews of searches."""

from __future__ import annotations

from typing import Any

from tests.api.samples import Case

GRID: dict[str, Any] = {
    "searcher": {"name": "grid", "metric": "loss", "max_length": {"batches": 10}},
    "hyperparameters": {
        "lr": {"type": "double", "minval": 0.1, "maxval": 1, "count": 3},
        "layers": {"type": "categorical", "vals": [1, 2]},
    },
}
ASHA: dict[str, Any] = {
    "searcher": {
        "name": "adaptive_asha",
        "metric": "loss",
        "max_trials": 4,
        "max_time": 100,
        "time_metric": "batches",
    },
    "hyperparameters": {"lr": 0.1},
}
CASES: dict[str, Case] = {
    "preview.grid": Case(request={"config": GRID, "seed": 1}),
    "preview.asha": Case(request={"config": ASHA}),
}
