"""Loads of few clients and small requests: a lone reporter, and lines 100 a request."""

from __future__ import annotations

from bench import experiments, log_lines, reports, rows
from bench.bare import bare_server, moved_to
from bench.cluster import Cluster
from bench.experiments import reporting_trials
from bench.figure import Figure, Limit, Load, Measured
from bench.load.http_load import send_each_once, send_in_turn

MANY_METRICS = 100
MAX_PER_SECOND = 4000
LINES = 100
DIFFERENT = 20
LINE_CONNECTIONS = 4


def measure_reports(cluster: Cluster, load: Load) -> Measured:
    """One client that sends a report when the last one is answered: 1 and 100 metrics."""
    rate, p99_ms, bare = _report(cluster, load, 1)
    many, _, bare_many = _report(cluster, load, MANY_METRICS)
    facts = {"bare": round(bare), "bare_100": round(bare_many)}
    return Measured(
        [rate, p99_ms, rate / bare, many * MANY_METRICS, many / bare_many],
        facts,
    )


def measure_lines(cluster: Cluster, load: Load) -> Measured:
    """Lines posted 100 a request by four clients."""
    trial_id = reporting_trials(cluster, reports.TRIALS)[0]
    task_id = experiments.task_id(cluster, trial_id)
    before = rows.count_lines(cluster, task_id)
    requests = list(log_lines.posts(cluster, task_id, DIFFERENT, LINES))
    answered = send_in_turn(cluster, requests, LINE_CONNECTIONS, load.seconds)
    sent = answered.requests * LINES
    stored = rows.count_lines(cluster, task_id) - before
    if not sent <= stored <= sent + LINE_CONNECTIONS * LINES:
        raise RuntimeError(f"{sent} lines were answered, {stored} are stored")
    plain = [r for r in requests if rb"\ud" not in r]  # half a surrogate pair is not for it
    with bare_server(cluster) as server:
        bare = send_in_turn(
            server, [moved_to(server, r, "/lines") for r in plain], LINE_CONNECTIONS, load.seconds
        )
    facts = {**answered.facts(), "bare": round(bare.rate * LINES)}
    return Measured([sent / answered.seconds, answered.rate / bare.rate], facts)


def _report(cluster: Cluster, load: Load, metrics: int) -> tuple[float, float, float]:
    """Reports a second, their 99th percentile in ms, and those of the bare server."""
    trial_ids = reporting_trials(cluster, reports.TRIALS)[:1]
    count = round(load.seconds * MAX_PER_SECOND)
    before, _ = rows.count_points(cluster, trial_ids, 0)
    requests = list(
        reports.single_reports(cluster, trial_ids, count, metrics=metrics, validation_every=0)
    )
    answered = send_each_once(cluster, requests, 1, load.seconds)
    stored, _ = rows.count_points(cluster, trial_ids, 0)
    if not answered.requests <= stored - before <= answered.requests + 1:
        raise RuntimeError(f"{answered.requests} were answered, {stored - before} are stored")
    with bare_server(cluster) as server:
        moved = (moved_to(server, request, "/report") for request in requests)
        bare = send_each_once(server, moved, 1, load.seconds)
    return answered.rate, answered.p99_ms, bare.rate


REPORTS = Figure(
    name="report_one_client",
    limits=[
        Limit("rate", "reports/s", 1785.0, judged="reported"),
        Limit("p99", "ms", 10.0, "at_most"),
        Limit("over_bare", "ratio", 0.5, judged="ratio"),
        Limit("points_100", "points/s", 110_000.0, judged="reported"),
        Limit("over_bare_100", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure_reports,
    warm_up=True,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
)
LINES_100 = Figure(
    name="log_post_100",
    limits=[
        Limit("rate", "lines/s", 96_000.0, judged="reported"),
        Limit("over_bare", "ratio", 0.5, judged="ratio"),
    ],
    measure=measure_lines,
    warm_up=True,
    full=Load(runs=3, seconds=5.0),
    smoke=Load(runs=1, seconds=1.0),
)
