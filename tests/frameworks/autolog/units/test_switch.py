"""What autolog records where, and what it does about faults."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import determined as det
from determined import core

X, Y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2


def run(text: str, place: Path) -> subprocess.CompletedProcess[str]:
    """A script without a login."""
    return subprocess.run(
        [sys.executable, "-W", "error::DeprecationWarning:determined", "-c", text],
        env={**os.environ, "HOME": str(place), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_frameworks_can_be_imported_later_and_reports_are_printed(tmp_path: Path) -> None:
    done = run(
        "import sys\n"
        "import determined as det\n"
        "det.autolog()\n"
        "assert not {'sklearn', 'torch', 'keras', 'numpy'} & set(sys.modules)\n"
        "import xgboost, lightgbm\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "LogisticRegression().fit([[0.0], [1.0]], [0, 1])\n"
        "data = xgboost.DMatrix([[0.0], [1.0]], [0, 1])\n"
        "xgboost.train({}, data, 1, evals=[(data, 'eval')], verbose_eval=False)\n",
        tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "training metrics at step 1: {'fit_seconds'" in done.stderr
    assert "validation metrics at step 2: {'eval-rmse'" in done.stderr
    assert done.stderr.count("nobody is logged in") == 1


def test_an_unsupported_version_is_named_and_the_script_continues(tmp_path: Path) -> None:
    done = run(
        "import xgboost\n"
        "xgboost.__version__ = '0.90'\n"
        "import keras\n"
        "keras.__version__ = '2.15.0'\n"
        "import determined as det\n"
        "det.autolog()\n"
        "print('trained')\n",
        tmp_path,
    )
    assert done.stdout == "trained\n"
    lines = [line for line in done.stderr.splitlines() if "autolog" in line]
    assert lines == [
        "autolog records nothing of keras: determined.keras works with Keras 3, and this Python "
        "has 2.15.0: install keras>=3",
        "autolog records nothing of xgboost: it records xgboost 2 and 3, and this Python has "
        "0.90: install one of these",
    ]


def test_a_forked_process_records_nothing(trial: Any) -> None:
    LogisticRegression().fit(X, Y)
    child = os.fork()
    if child == 0:
        before = len(trial.reports)
        LogisticRegression().fit(X, Y)
        os._exit(0 if len(trial.reports) == before else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_frameworks_are_chosen_by_name(trial: Any) -> None:
    det.autolog(frameworks=["keras"])
    LogisticRegression().fit(X, Y)
    assert trial.reports == {}
    det.autolog(frameworks=["keras", "sklearn"])
    LogisticRegression().fit(X, Y)
    assert len(trial.reports) == 1
    with pytest.raises(ValueError, match="does not record scikit: frameworks are keras, lightgbm"):
        det.autolog(frameworks=["scikit"])


def test_a_refused_report_ends_the_recording_and_not_the_script(
    trial: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise RuntimeError("the disk is full")

    monkeypatch.setattr(trial, "_report", refuse)
    with caplog.at_level(logging.WARNING, "determined.autolog"):
        for _ in range(2):
            LogisticRegression().fit(X, Y)
    [record] = caplog.records
    assert "records nothing more of this process: the disk is full" in record.getMessage()


def test_ranks_above_0_record_nothing(
    trial: Any, context: core.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(context.distributed, "rank", 1)
    LogisticRegression().fit(X, Y)
    assert (trial.reports, trial.metadata) == ({}, {})


def test_long_parameters_are_cut_and_many_are_left_out(
    trial: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for number in range(50):
        kind = type(f"Model{number}", (LogisticRegression,), {})
        kind(class_weight={n: float("nan") if n else 1.0 for n in range(200)})
        model = LogisticRegression()
        model.__class__ = kind
        model.set_params(class_weight={n: 1.0 for n in range(200)})
        model.fit(X, Y)
    assert max(len(str(value)) for value in trial.params["Model0"].values()) <= 202
    assert len(str(trial.params)) < 20_000
    assert "are not recorded: those of this trial have 16 KiB already" in caplog.text
