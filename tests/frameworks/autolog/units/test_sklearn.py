"""Estimators of scikit-learn are recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import determined as det

X = np.arange(40.0).reshape(20, 2)
Y = np.arange(20) % 2
HELD_OUT = X[:6] + 0.5


class Constant(ClassifierMixin, BaseEstimator):
    """An estimator of a script."""

    def __init__(self, value: int = 0) -> None:
        self.value = value

    def fit(self, X: Any, y: Any) -> Constant:
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.value)


def test_a_fit_records_parameters_and_the_score_of_its_training(trial: Any) -> None:
    model = LogisticRegression(C=0.5).fit(X, Y)
    training = trial.reports["training", 1]
    assert training["training_score"] == pytest.approx(model.score(X, Y))
    assert training["fit_seconds"] > 0
    assert trial.params["LogisticRegression"]["C"] == 0.5
    assert list(trial.reports) == [("training", 1)], "the score of the same data is there already"


class Remote(Constant):
    """An estimator with secrets among its parameters."""

    def __init__(
        self, password: str = "hidden", api_token: str = "hidden", value: int = 0
    ) -> None:
        super().__init__(value)
        self.password = password
        self.api_token = api_token


def test_secrets_are_no_parameters(trial: Any) -> None:
    Remote(value=1).fit(X, Y)
    assert trial.params["Remote"] == {"value": 1}


def test_a_score_of_other_data_is_a_validation_at_the_step_of_the_fit(trial: Any) -> None:
    model = LogisticRegression().fit(X, Y)
    first = model.score(HELD_OUT, Y[:6])
    second = model.score(HELD_OUT[:5], Y[:5])
    assert trial.reports["validation", 1] == {"val_score": first}
    assert trial.reports["validation", 2] == {"val_score": second}


def test_each_fit_has_a_later_step(trial: Any) -> None:
    for strength in (0.1, 1.0):
        LogisticRegression(C=strength).fit(X, y=Y)
    assert trial.steps("training", "training_score") == [1, 2]
    assert trial.params["LogisticRegression"]["C"] == 1.0


def test_a_search_is_one_run_with_its_best_parameters(trial: Any) -> None:
    search = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    assert trial.steps("training", "fit_seconds") == [1]
    assert trial.reports["validation", 1]["val_best_score"] == pytest.approx(search.best_score_)
    assert trial.params["GridSearchCV"]["best_params.C"] == search.best_params_["C"]
    assert list(trial.params) == ["GridSearchCV"]


def test_the_steps_of_a_pipeline_are_a_part_of_it(trial: Any) -> None:
    make_pipeline(StandardScaler(), LogisticRegression(C=0.25)).fit(X, Y)
    assert list(trial.params) == ["Pipeline"]
    assert trial.params["Pipeline"]["logisticregression__C"] == 0.25
    assert "training_score" in trial.reports["training", 1]


def test_estimators_without_predictions_are_not_recorded(trial: Any) -> None:
    PCA(1).fit(X)
    StandardScaler().fit_transform(X)
    assert (trial.reports, trial.metadata) == ({}, {})


def test_estimators_of_the_script_are_recorded(trial: Any) -> None:
    Constant(1).fit(X, Y)
    assert trial.params["Constant"] == {"value": 1}
    assert trial.reports["training", 1]["training_score"] == 0.5


def test_several_processes_of_a_search_train_estimators_of_the_script(trial: Any) -> None:
    class Local(Constant):
        pass

    search = GridSearchCV(Local(), {"value": [0, 1]}, cv=2, n_jobs=2).fit(X, Y)
    assert search.best_score_ == 0.5
    assert trial.steps("training", "fit_seconds") == [1]


def test_an_error_of_a_fit_is_the_scripts_and_the_next_fit_is_recorded(trial: Any) -> None:
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        LogisticRegression().fit(X, Y[:3])
    LogisticRegression().fit(X, Y)
    assert trial.steps("training", "fit_seconds") == [1]


def test_without_the_training_score_no_data_is_scored(trial: Any) -> None:
    det.autolog(training_score=False)
    LogisticRegression().fit(X, Y)
    assert list(trial.reports["training", 1]) == ["fit_seconds"]
