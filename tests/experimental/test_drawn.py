"""What objects of the SDK show of themselves in a notebook, and their errors for wrong names."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator

import pytest
from tests.cli import canned
from tests.cli.conftest import home, master  # noqa: F401  # fixtures
from tests.cli.fake_master import FakeMaster

from determined.common.experimental import drawn
from determined.experimental import Determined, OrderBy, Trial


@pytest.fixture
def cluster(master: FakeMaster) -> Iterator[Determined]:  # noqa: F811  # the fixture above
    session = Determined()
    yield session
    session._session.close()


@pytest.fixture
def served(master: FakeMaster) -> FakeMaster:  # noqa: F811  # the fixture above
    return master


def test_a_trial_is_drawn_with_its_page_its_hyperparameters_and_its_last_metrics(
    cluster: Determined, served: FakeMaster
) -> None:
    shown = cluster.get_trial(11)._repr_html_()
    assert f'<a href="{served.url}/det/trials/11"' in shown
    for column, value in (
        ("state", "COMPLETED"),
        ("hparams.lr", "0.1"),
        ("hparams.net.layers", "2"),
        ("training.loss", "0.2"),
        ("validation.loss", "0.1"),
    ):
        assert f">{column}</th><td style='text-align:left'>{value}</td>" in shown


def test_unread_values_are_not_requested(cluster: Determined, served: FakeMaster) -> None:
    calls = len(served.calls)
    assert (
        ">id</th><td style='text-align:left'>11</td>" in Trial(11, cluster._session)._repr_html_()
    )
    assert len(served.calls) == calls


def test_texts_of_users_are_texts(cluster: Determined, served: FakeMaster) -> None:
    body = {**canned.EXPERIMENT, "name": "<script>alert(1)</script>", "description": "x" * 500}
    served.routes["GET", "/api/v1/experiments/7"] = (200, {"experiment": body, "config": {}})
    experiment = cluster.get_experiment(7)
    shown = experiment._repr_html_() + drawn.DrawnList([experiment])._repr_html_()
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "x" * drawn.MAX_TEXT_DRAWN + "…" in shown
    assert "x" * (drawn.MAX_TEXT_DRAWN + 1) not in shown


def test_a_list_is_a_list_and_is_drawn_with_its_first_rows(cluster: Determined) -> None:
    trials = cluster.get_experiment(7).list_trials()
    assert isinstance(trials, list)
    many = drawn.DrawnList(trials * (drawn.MAX_ROWS_DRAWN + 3))
    shown = many._repr_html_()
    assert shown.count("<tr><td>") == drawn.MAX_ROWS_DRAWN
    assert "3 more: to_dataframe() has all" in shown
    assert drawn.DrawnList()._repr_html_().count("<tr>") == 1


def test_a_checkpoint_is_drawn_with_its_size_and_its_metrics(cluster: Determined) -> None:
    assert cluster.get_checkpoint(canned.UUID)._row() == {
        "uuid": canned.UUID,
        "state": "COMPLETED",
        "report_time": canned.T1,
        "steps_completed": 5,
        "bytes": 31,
        "experiment_id": 7,
        "trial_id": 11,
        "validation.loss": 0.1,
        "hparams.lr": 0.1,
    }


def test_values_are_short_texts() -> None:
    noon = datetime.datetime(2026, 11, 30, 12, 0, 0, 5, tzinfo=datetime.UTC)
    assert [drawn._text(value) for value in (None, True, 3, 1 / 3, noon)] == [
        *("", "True", "3", "0.333333", "2026-11-30 12:00:00+00:00")
    ]


def test_reports_are_read_on_demand() -> None:
    asked = []

    def reports() -> Iterator[int]:
        for number in range(3):
            asked.append(number)
            yield number

    read = drawn.Reports(reports())
    assert next(read) == 0
    assert asked == [0]
    assert list(read) == [1, 2]


def test_a_data_frame_without_pandas_says_what_to_install(
    cluster: Determined, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_dataframe needs pandas: pip install pandas"):
        cluster.get_experiment(7).list_trials().to_dataframe()


@pytest.mark.parametrize("wrong", ["abc", "1.5", None, [1]])
def test_an_id_that_is_no_number_is_named(cluster: Determined, wrong: object) -> None:
    with pytest.raises(ValueError, match="the id of a trial is a number, not"):
        cluster.get_trial(wrong)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="the id of an experiment is a number, not"):
        cluster.get_experiment(wrong)  # type: ignore[arg-type]


def test_an_id_may_be_a_text_of_digits(cluster: Determined) -> None:
    assert cluster.get_trial("11").id == 11  # type: ignore[arg-type]


def test_sorting_by_a_metric_that_was_not_reported_names_those_that_were(
    cluster: Determined, served: FakeMaster
) -> None:
    for path in ("/api/v1/trials/11/checkpoints", "/api/v1/experiments/7/checkpoints"):
        served.routes["GET", path] = (200, canned.page("checkpoints", canned.CHECKPOINT))
    wrong = "no checkpoint has a validation metric 'los': use 'loss', sort by CheckpointSortBy"
    with pytest.raises(ValueError, match=wrong):
        cluster.get_trial(11).list_checkpoints("los", OrderBy.ASC)
    with pytest.raises(ValueError, match=wrong):
        cluster.get_experiment(7).list_checkpoints("los", OrderBy.ASC)
    with pytest.raises(ValueError, match=wrong):
        cluster.get_trial(11).top_checkpoint("los", smaller_is_better=True)


def test_without_checkpoints_a_list_by_a_metric_is_empty(
    cluster: Determined, served: FakeMaster
) -> None:
    served.routes["GET", "/api/v1/trials/11/checkpoints"] = (200, canned.page("checkpoints"))
    assert cluster.get_trial(11).list_checkpoints("los", OrderBy.ASC) == []
