"""Scripts that report nothing, as trials of a real cluster that searches by their scores."""

from __future__ import annotations

import pytest
from tests.e2e.cluster import Cluster
from tests.frameworks.environment import frameworks_python

pytestmark = [pytest.mark.slow, pytest.mark.e2e]

SCRIPT = """
import determined as det

det.autolog()
import xgboost
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

strength = det.get_cluster_info().trial.hparams["C"]
images, labels = load_digits(return_X_y=True)
model = LogisticRegression(C=strength, max_iter=50).fit(images[:600], labels[:600])
print("score", model.score(images[600:900], labels[600:900]))
data = xgboost.DMatrix(images[:100], labels[:100] > 4)
xgboost.train({"eta": 0.5}, data, 3, evals=[(data, "train")], verbose_eval=False)
"""


def test_a_search_takes_the_scores_of_scripts_that_report_nothing(cluster: Cluster) -> None:
    experiment = cluster.submit(
        {
            "name": "autolog",
            "entrypoint": [frameworks_python(), "train.py"],
            "hyperparameters": {"C": {"type": "categorical", "vals": [0.0001, 1.0]}},
            "searcher": {"name": "grid", "metric": "val_score", "smaller_is_better": False},
            "max_restarts": 0,
        },
        {"train.py": SCRIPT},
    )
    state = cluster.wait(experiment, 600)
    trials = cluster.trials(experiment)
    assert state == "COMPLETED", [cluster.text(trial["id"]) for trial in trials]
    assert len(trials) == 2
    for trial in trials:
        best = trial["bestValidation"]["metrics"]["avgMetrics"]
        assert f"score {best['val_score']}" in cluster.text(trial["id"])
        answer = cluster.session().get(f"/api/v1/runs/{trial['id']}/metadata")
        params = answer.json()["metadata"]["autolog"]
        assert params["LogisticRegression"]["C"] == trial["hparams"]["C"]
        assert params["xgboost"] == {"eta": 0.5, "rounds": 3}
        assert int(trial["totalBatchesProcessed"]) == 4  # a fit, and three rounds
