"""Ray Tune's side of `tune_ratio`: trials of one second on two CPUs; run in Ray's environment.

python tune_trials.py TRIALS DIRECTORY
"""

import logging
import sys
import time

import ray
from ray import tune


def train(config: dict[str, float]) -> dict[str, float]:
    time.sleep(1.0)
    return {"loss": config["learning_rate"]}


def main(trials: int, directory: str) -> None:
    ray.init(num_cpus=2, include_dashboard=False, logging_level=logging.ERROR)
    tuner = tune.Tuner(
        tune.with_resources(train, {"cpu": 1}),
        param_space={"learning_rate": tune.uniform(0.01, 0.1)},
        tune_config=tune.TuneConfig(num_samples=trials),
        run_config=tune.RunConfig(storage_path=directory, verbose=0),
    )
    results = tuner.fit()
    if len(results) != trials or results.errors:
        sys.exit(f"{len(results)} trials, {len(results.errors)} errors")
    print("DONE", flush=True)  # the bench reads it


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])
