"""Changes and columns of the live channel in memory: their cost without viewers, their bounds."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from determined_master.domain.updates.live import read_topic
from determined_master.services.updates.live import columns as columns_module
from determined_master.services.updates.live import news as news_module
from determined_master.services.updates.live.channel import KEPT_FRAMES, Channel
from determined_master.services.updates.live.channels import Channels
from determined_master.services.updates.live.columns import ReportColumns
from determined_master.services.updates.live.news import LiveNews

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def watched(*names: str) -> tuple[LiveNews, Channels]:
    news = LiveNews()
    channels = Channels(news)
    for name in names:
        channels.open(read_topic(name), None)
    return news, channels


def taken(columns: ReportColumns) -> list[dict[str, Any]]:
    return [msgspec.json.decode(data) for data in columns.take(1)]


def test_nothing_is_noted_while_nobody_watches() -> None:
    news = LiveNews()
    news.trial(1, 2)
    news.report(1, 2, "training", 1, NOW, {"loss": 1.0})
    news.experiment(1, "ACTIVE")
    news.task("t")
    news.pool("default")
    news.agents(["a"])
    news.permissions()
    assert news.take().is_empty()
    assert (news.experiment_of(1), news.reports) == (None, {})


def test_a_report_is_kept_for_watched_metrics_only() -> None:
    news, channels = watched("metrics:1")
    for trial_id in (1, 2):
        news.report(trial_id, 9, "training", 5, NOW, {"loss": 0.5})
    assert news.take().trials == {1, 2}
    assert list(news.reports) == [1]
    [channel] = channels
    channels.close(channel)
    assert (news.is_watched, news.reports) == (False, {})


def test_too_many_changes_count_as_unknown(monkeypatch: Any) -> None:
    monkeypatch.setattr(news_module, "MAX_CHANGED", 2)
    news, _ = watched("tasks")
    for n in range(3):
        news.task(f"t{n}")
    assert news.take().are_unknown


def test_columns_have_null_where_a_report_lacks_a_metric() -> None:
    columns = ReportColumns()
    columns.add("training", 1, NOW, {"loss": 1, "text": "no number", "flag": True})
    columns.add("training", 2, NOW, {"loss": "NaN", "late": 2.5})
    columns.add("training", 3, NOW, {"other": float("-inf")})
    columns.add("validation", 3, NOW, {"loss": 4})
    training, validation = taken(columns)
    assert training["batches"] == [1, 2, 3]
    assert training["metrics"] == {
        "loss": [1.0, "NaN", None],
        "late": [None, 2.5, None],
        "other": [None, None, "-Infinity"],
    }
    assert (validation["group"], validation["metrics"]) == ("validation", {"loss": [4.0]})
    assert taken(columns) == []


def test_columns_are_bounded(monkeypatch: Any) -> None:
    monkeypatch.setattr(columns_module, "MAX_VALUES", 10)
    columns = ReportColumns()
    for n in range(100):
        columns.add("training", n, NOW, {"loss": 1.0})
    assert columns.are_too_many
    assert len(taken(columns)[0]["batches"]) < 10
    assert not columns.are_too_many


def test_a_channel_keeps_so_many_frames_for_those_that_come_back() -> None:
    channel = Channel(read_topic("tasks"), None, "epoch")
    cursors = [channel.cursor]
    for n in range(KEPT_FRAMES + 1):
        channel.publish("upsert", b"%d" % n)
        cursors.append(channel.cursor)
    assert b'"op":"reset"' in channel.opening(cursors[0], b"{}")[0].payload
    missed = channel.opening(cursors[1], b"{}")
    assert len(missed) == KEPT_FRAMES
    assert missed[-1].payload.endswith(b'"op":"upsert","data":%d}' % KEPT_FRAMES)
    [known] = channel.opening(cursors[-1], b"{}")
    assert known.payload.endswith(b'"op":"upsert","data":{}}')


def test_channels_of_one_thing_differ_by_audience_and_spelling() -> None:
    news = LiveNews()
    channels = Channels(news)
    every = channels.open(read_topic("project:all/runs"), None)
    assert channels.open(read_topic("project:all/runs"), None) is every
    channels.open(read_topic("project:0/runs"), None)
    channels.open(read_topic("project:all/runs"), frozenset({1}))
    assert len(channels.of("project", 0)) == 3
    channels.sweep(linger_s=-1)
    assert not channels
    assert not news.is_watched
