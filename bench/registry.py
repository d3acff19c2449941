"""All figures, in the order in which they are measured.

What is sensitive to a busy database or to a warm cluster comes before what fills it.
"""

from __future__ import annotations

from collections.abc import Sequence

from bench.figure import Figure
from bench.figures import (
    admission,
    agents_1000,
    api_reads,
    asha_quality,
    chaos,
    checkpoint_throughput,
    cluster_up,
    command_line,
    docker_grid,
    docker_start,
    empty_trial,
    engine_steps,
    experiment_list,
    gang_200,
    idle,
    log_ingest,
    log_post,
    loop_stall,
    metric_batch,
    metric_points,
    metric_report,
    mlflow_ratio,
    plan_tick,
    report_call,
    restart_1000,
    search_events,
    search_recovery,
    series_read,
    submit_to_user_code,
    tune_ratio,
)

FIGURES: Sequence[Figure] = (
    cluster_up.FIGURE,
    idle.FIGURE,
    engine_steps.FIGURE,
    asha_quality.FIGURE,
    chaos.FIGURE,
    plan_tick.FIGURE,
    admission.FIGURE,
    gang_200.FIGURE,
    agents_1000.FIGURE,
    restart_1000.FIGURE,
    checkpoint_throughput.FIGURE,
    search_events.FIGURE,
    search_recovery.FIGURE,
    submit_to_user_code.FIGURE,
    empty_trial.FIGURE,
    tune_ratio.FIGURE,
    docker_start.FIGURE,
    docker_grid.FIGURE,
    command_line.VERSION,
    command_line.LIST,
    api_reads.ME,
    api_reads.TRIAL,
    api_reads.LIST,
    metric_report.FIGURE,
    metric_points.FIGURE,
    metric_batch.FIGURE,
    mlflow_ratio.FIGURE,
    report_call.FIGURE,
    log_post.FIGURE,
    log_ingest.FIGURE,
    loop_stall.FIGURE,
    experiment_list.FIGURE,
    series_read.FIGURE,
)
