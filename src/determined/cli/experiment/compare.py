"""`det experiment compare`: results side by side, and where the configurations differ."""

from __future__ import annotations

import argparse
import datetime
from typing import Any, Dict, Iterator, List, Sequence, Tuple

from determined.cli import connect, errors, pagination
from determined.cli.output import show
from determined.common.api import Session

_UNSET = ""
_ALWAYS_DIFFERENT = ("name", "reproducibility.experiment_seed")


def compare(args: argparse.Namespace) -> None:
    """Print one column for each experiment.

    Raises:
        CliError: fewer than two experiments are named.
    """
    numbers = list(dict.fromkeys(args.experiment_id))
    if len(numbers) < 2:
        raise errors.CliError("name at least two experiments to compare")
    session = connect.session(args)
    experiments = [session.get(f"/api/v1/experiments/{n}").json()["experiment"] for n in numbers]
    facts = [_facts(session, experiment) for experiment in experiments]
    configs = [dict(_flat(e["config"])) for e in experiments]
    differing = _differing(configs)
    if args.json:
        show.as_json(
            [
                {"id": e["id"], "results": fact, "config": {k: c.get(k) for k in differing}}
                for e, fact, c in zip(experiments, facts, configs)
            ]
        )
        return
    rows: List[List[Any]] = [[name, *(fact[name] for fact in facts)] for name in facts[0]]
    rows += [[key, *(_text_of(c.get(key, _UNSET)) for c in configs)] for key in differing]
    show.table(["", *(f"Experiment {n}" for n in numbers)], rows, as_csv=args.csv)


def _facts(session: Session, experiment: Dict[str, Any]) -> Dict[str, Any]:
    searcher = experiment["config"]["searcher"]
    path = f"/api/v1/experiments/{experiment['id']}/trials"
    trials = pagination.fetch(session, path, "trials", {})
    values = [t["searcherMetricValue"] for t in trials if t.get("searcherMetricValue") is not None]
    best = min if searcher.get("smaller_is_better", True) else max
    return {
        "name": experiment["name"],
        "state": show.state(experiment["state"]),
        "duration (s)": _duration_s(experiment),
        "trials": len(trials),
        "best metric": f"{searcher['metric']}: {best(values)}" if values else "",
    }


def _duration_s(experiment: Dict[str, Any]) -> Any:
    """Seconds from its start to its end; empty while it runs."""
    if not experiment.get("endTime"):
        return ""
    begin, end = (
        datetime.datetime.fromisoformat(experiment[name][:19]) for name in ("startTime", "endTime")
    )
    return int((end - begin).total_seconds())


def _flat(value: Any, path: str = "") -> Iterator[Tuple[str, Any]]:
    """The leaves of nested mappings, by dotted path."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _flat(item, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def _differing(configs: Sequence[Dict[str, Any]]) -> List[str]:
    keys = sorted({key for config in configs for key in config} - set(_ALWAYS_DIFFERENT))
    return [
        key
        for key in keys
        if any(c.get(key, _UNSET) != configs[0].get(key, _UNSET) for c in configs)
    ]


def _text_of(value: Any) -> str:
    return value if isinstance(value, str) else show.block(value)
