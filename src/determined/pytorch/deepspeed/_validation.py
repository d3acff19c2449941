"""The validation of a DeepSpeed trial on all ranks."""

from __future__ import annotations

import logging
from typing import Any, Dict, Iterator, List, Optional

from determined.pytorch import _values
from determined.pytorch._training.loading import Share, share_of
from determined.pytorch._training.validation import Validation, checked_metrics

logger = logging.getLogger("determined.pytorch")


class EngineValidation(Validation):
    """Validates a trial whose ranks may have parts of one model.

    Ranks with parts of one model must make the same number of calls. What the rank with the most
    batches has beyond that is left out, with a warning.
    """

    def _outputs(self) -> List[Dict[str, Any]]:
        mpu = self._context._mpu
        own = Share(mpu.data_parallel_world_size, mpu.data_parallel_rank)
        loader = None if self._loader is None else share_of(self._loader, own)
        calls = 1 if self._is_short else self._calls(loader)
        batches: Optional[Iterator[Any]] = None if loader is None else iter(loader)
        outputs = []
        for index in range(calls):
            output = self._trial.evaluate_batch(batches, index)
            if mpu.should_report_metrics:
                outputs.append(_values.detached(checked_metrics(output, "evaluate_batch")))
        return outputs

    def _at_once(self) -> Dict[str, Any]:
        loader = None if self._loader is None else share_of(self._loader, Share(1, 0))
        metrics = self._trial.evaluate_full_dataset(loader)
        own = None
        if self._context._mpu.should_report_metrics:
            own = _values.plain(checked_metrics(metrics, "evaluate_full_dataset"))
        every = self._context.distributed.gather(own)
        return next(part for part in every if part is not None) if every is not None else {}

    def _calls(self, loader: Any) -> int:
        """How often this rank calls `evaluate_batch`."""
        context = self._context
        is_parted = context._calls_per_batch == 1  # a call takes all micro batches of a batch
        size = context.num_micro_batches_per_slot if is_parted else 1
        own = None if loader is None else len(loader) // size
        every = [calls for calls in context.distributed.allgather(own) if calls is not None]
        if not max(every):
            raise ValueError(
                f"the validation data has no batch of {size} micro batches on any rank: give "
                "the validation data loader more records or a smaller batch_size"
            )
        if own is not None and not _is_joint(context):
            return own
        if min(every) < max(every) and context.distributed.rank == 0:
            logger.warning(
                "ranks have %d to %d batches of validation data, and all must have the same "
                "number: %d are used",
                min(every),
                max(every),
                min(every),
            )
        return int(min(every))


def _is_joint(context: Any) -> bool:
    """Whether a rank needs others to evaluate a batch."""
    return (
        context.use_pipeline_parallel
        or context._has_own_mpu
        or any(engine.zero_optimization_stage() == 3 for engine in context.models)
    )
