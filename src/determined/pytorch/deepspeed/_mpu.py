"""The role of a rank where models are divided among ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from determined import core


class ModelParallelUnit(NamedTuple):
    """The role of a rank in a model that may be divided among several."""

    data_parallel_rank: int
    """The copy of the model that this rank has a part of, from 0; copies share the data."""
    data_parallel_world_size: int
    """The number of copies of the model."""
    should_report_metrics: bool
    """Whether the metrics of this rank count."""
    should_build_data_loader: bool
    """Whether this rank reads data; the others get None in place of an iterator."""


def make_data_parallel_mpu(dist_context: core.DistributedContext) -> ModelParallelUnit:
    """The role where every rank has the whole model."""
    return ModelParallelUnit(
        data_parallel_rank=dist_context.rank,
        data_parallel_world_size=dist_context.size,
        should_report_metrics=True,
        should_build_data_loader=True,
    )


def make_deepspeed_mpu(topology: Any) -> ModelParallelUnit:
    """The role in a `deepspeed.runtime.pipe.topology.PipelineParallelGrid`.

    The first stage reads inputs, and the last one reads labels and reports metrics. Of a stage
    that is divided further, one rank does so.
    """
    stage, stages = topology.get_stage_id(), topology.get_pipe_parallel_world_size()
    is_first_slice = topology.get_slice_parallel_rank() == 0
    return ModelParallelUnit(
        data_parallel_rank=topology.get_data_parallel_id(),
        data_parallel_world_size=topology.get_data_parallel_world_size(),
        should_report_metrics=is_first_slice and stage == stages - 1,
        should_build_data_loader=is_first_slice and stage in (0, stages - 1),
    )
