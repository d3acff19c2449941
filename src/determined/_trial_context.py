"""The base classes of trials and of their contexts."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Any, Dict

from determined._env_context import EnvContext

if TYPE_CHECKING:
    from determined import core


class TrialContext:
    """Base of the contexts of trial classes.

    Args:
        core_context: the Core API context to use.
        env: the environment of the trial.
    """

    def __init__(self, core_context: core.Context, env: EnvContext) -> None:
        self._core = core_context
        self.env = env
        self.distributed = core_context.distributed
        self._stop_requested = False

    @classmethod
    def from_config(cls, config: Dict[str, Any]) -> TrialContext:
        """A context to test a trial class off the cluster with this configuration."""
        from determined import core

        hparams = {
            name: value["val"] if isinstance(value, dict) and "val" in value else value
            for name, value in (config.get("hyperparameters") or {}).items()
        }
        env = EnvContext(
            master_url="",
            master_cert_file=None,
            master_cert_name=None,
            experiment_config=config,
            hparams=hparams,
            latest_checkpoint=None,
            steps_completed=0,
            use_gpu=False,
            container_gpus=[],
            slot_ids=[],
            debug=bool(config.get("debug", False)),
            det_trial_id="",
            det_experiment_id="",
            det_agent_id="",
            det_cluster_id="",
            trial_seed=int((config.get("reproducibility") or {}).get("experiment_seed", 0)),
            trial_run_id=1,
            allocation_id="",
            managed_training=False,
            test_mode=False,
            on_cluster=False,
        )
        return cls(core.make_dummy_context(), env)

    def get_experiment_config(self) -> Dict[str, Any]:
        """The whole configuration."""
        return self.env.experiment_config

    def get_data_config(self) -> Dict[str, Any]:
        """The configuration's `data`."""
        return dict(self.env.experiment_config.get("data") or {})

    def get_experiment_id(self) -> int:
        return int(self.env.det_experiment_id)

    def get_trial_id(self) -> int:
        return int(self.env.det_trial_id)

    def get_trial_seed(self) -> int:
        """The seed for this trial's randomness."""
        return self.env.trial_seed

    def get_hparams(self) -> Dict[str, Any]:
        """This trial's hyperparameters."""
        return self.env.hparams

    def get_hparam(self, name: str) -> Any:
        """One hyperparameter.

        Raises:
            ValueError: it does not exist.
        """
        if name not in self.env.hparams:
            raise ValueError(
                f"there is no hyperparameter {name!r}; the configuration has "
                f"{', '.join(sorted(self.env.hparams)) or 'none'}"
            )
        return self.env.hparams[name]

    def get_stop_requested(self) -> bool:
        """Whether user code requested a stop."""
        return self._stop_requested

    def set_stop_requested(self, stop_requested: bool) -> None:
        """Request a stop after the current batch."""
        if not isinstance(stop_requested, bool):
            raise TypeError(f"stop_requested must be a bool, got {stop_requested!r}")
        self._stop_requested = stop_requested

    def get_initial_batch(self) -> int:
        """Batches trained before this run: those of the checkpoint resumed from, or 0."""
        return self.env.steps_completed

    def get_tensorboard_path(self) -> pathlib.Path:
        """The directory for TensorBoard files."""
        return self._core.train.get_tensorboard_path()


class LegacyTrial:
    """Base of trial classes; each framework has its own subclass."""

    trial_controller_class: Any = None
    trial_context_class: Any = TrialContext

    def __init__(self, context: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} must define __init__(self, context), which builds the model"
        )
