"""Trainings of XGBoost and LightGBM are recorded."""

from __future__ import annotations

from typing import Any

import lightgbm
import numpy as np
import pytest
import xgboost
from sklearn.model_selection import GridSearchCV

ROUNDS = 3
X = np.arange(120.0).reshape(60, 2)
Y = (np.arange(60) // 7) % 2
STEPS = list(range(1, ROUNDS + 1))


def test_xgboost_records_each_round_and_its_parameters(trial: Any) -> None:
    data = xgboost.DMatrix(X, Y)
    results: dict[str, Any] = {}
    xgboost.train(
        {"objective": "binary:logistic", "eta": 0.5},
        data,
        ROUNDS,
        evals=[(data, "train"), (data, "eval")],
        evals_result=results,
        verbose_eval=False,
    )
    assert trial.steps("training", "train-logloss") == STEPS
    losses = [trial.reports["validation", step]["eval-logloss"] for step in STEPS]
    assert losses == pytest.approx(results["eval"]["logloss"])
    assert trial.params["xgboost"] == {
        "objective": "binary:logistic",
        "eta": 0.5,
        "rounds": ROUNDS,
    }


def test_an_estimator_of_xgboost_is_recorded_by_its_rounds(trial: Any) -> None:
    model = xgboost.XGBClassifier(n_estimators=ROUNDS, max_depth=2)
    model.fit(X, Y, eval_set=[(X, Y)], verbose=False)
    assert trial.steps("validation", "validation_0-logloss") == STEPS
    assert trial.params["xgboost"]["max_depth"] == 2
    assert list(trial.params) == ["xgboost"]
    score = model.score(X[:30], Y[:30])
    assert trial.reports["validation", ROUNDS]["val_score"] == score


def test_lightgbm_records_each_round_and_its_parameters(trial: Any) -> None:
    data = lightgbm.Dataset(X, Y)
    lightgbm.train(
        {"objective": "binary", "verbosity": -1, "learning_rate": 0.5},
        data,
        ROUNDS,
        valid_sets=[data, lightgbm.Dataset(X[:30], Y[:30], reference=data)],
        valid_names=["training", "valid_0"],
    )
    assert trial.steps("training", "training-binary_logloss") == STEPS
    assert trial.steps("validation", "valid_0-binary_logloss") == STEPS
    assert trial.params["lightgbm"]["learning_rate"] == 0.5


def test_early_stopping_still_stops(trial: Any) -> None:
    model = lightgbm.LGBMClassifier(n_estimators=50, verbosity=-1)
    flipped = (X[:30], 1 - Y[:30])
    model.fit(X, Y, eval_set=[flipped], callbacks=[lightgbm.early_stopping(2, verbose=False)])
    assert trial.steps("validation", "valid_0-binary_logloss")[-1] < 50
    assert list(trial.params) == ["lightgbm"]


def test_boosting_inside_of_a_search_is_a_part_of_it(trial: Any) -> None:
    GridSearchCV(xgboost.XGBClassifier(n_estimators=2), {"max_depth": [1, 2]}, cv=2).fit(X, Y)
    assert list(trial.params) == ["GridSearchCV"]
    assert trial.steps("training", "fit_seconds") == [1]
