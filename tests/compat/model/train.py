"""Counts steps up to a number; reports, saves and can be resumed after each."""

import pathlib
import time

import determined as det
from determined import core


def main() -> None:
    info = det.get_cluster_info()
    assert info is not None
    print(f"harness {det.__version__} trial {info.trial.trial_id}", flush=True)
    hparams = info.trial.hparams
    with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
        step = 0
        if info.latest_checkpoint:
            with context.checkpoint.restore_path(info.latest_checkpoint) as path:
                step = int((pathlib.Path(path) / "step").read_text())
            known = context.checkpoint.get_metadata(info.latest_checkpoint)
            assert known["steps_completed"] == step, known
            print(f"resumed at {step}", flush=True)
        while step < hparams["steps"]:
            step += 1
            time.sleep(hparams.get("nap", 0))
            context.train.report_training_metrics(step, {"loss": 1 / step})
            context.train.report_validation_metrics(step, {"loss": 2 / step, "acc": step / 10})
            context.train.report_progress(step / hparams["steps"])
            is_asked_to_leave = context.preempt.should_preempt()
            if is_asked_to_leave or step in (1, hparams["steps"]):
                with context.checkpoint.store_path({"steps_completed": step}) as (path, uuid):
                    (pathlib.Path(path) / "step").write_text(str(step))
                print(f"saved {uuid}", flush=True)
            if is_asked_to_leave:
                return


if __name__ == "__main__":
    main()
