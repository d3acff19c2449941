"""The SDK in the kernel of a notebook: what its objects draw, their data frames, and a wait."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli import canned
from tests.cli.fake_master import Answer, Call, FakeMaster

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
RUN_LIMIT_S = 300.0
RUNNER = """
import json, sys
import nbclient, nbformat
notebook = nbformat.v4.new_notebook()
notebook.cells = [nbformat.v4.new_code_cell(cell) for cell in json.load(sys.stdin)]
nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3").execute()
print(json.dumps([cell.outputs for cell in notebook.cells]))
"""
WATCH = """
import IPython.display
drawn = []
update = IPython.display.DisplayHandle.update
def watched(self, shown, **more):
    drawn.append(shown.data)
    update(self, shown, **more)
IPython.display.DisplayHandle.update = watched
"""


@pytest.fixture
def served() -> Iterator[FakeMaster]:
    master = FakeMaster()
    yield master
    master.close()


def run(
    python: str, master: FakeMaster, folder: Path, *cells: str
) -> list[list[dict[str, object]]]:
    """The outputs of each cell of a notebook."""
    ended = subprocess.run(
        [python, "-c", RUNNER],
        input=json.dumps(cells),
        env={
            **os.environ,
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT / "src"),
            "DET_MASTER": master.url,
            "DET_USER": "determined",
            "DET_PASS": "Secret123",
        },
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=RUN_LIMIT_S,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    outputs: list[list[dict[str, object]]] = json.loads(ended.stdout.splitlines()[-1])
    return outputs


def test_objects_are_drawn_become_data_frames_and_a_wait_shows_its_progress(
    tools: str, served: FakeMaster, tmp_path: Path
) -> None:
    states = iter(("ACTIVE", "ACTIVE"))

    def experiment(call: Call) -> Answer:
        state = next(states, "COMPLETED")
        share = 0.4 if state == "ACTIVE" else 1
        body = {**canned.EXPERIMENT, "state": f"STATE_{state}", "progress": share}
        return 200, {"experiment": body, "config": canned.CONFIG}

    served.routes["GET", "/api/v1/experiments/7"] = experiment
    row = {
        "trialId": 11,
        "endTime": canned.T0,
        "metrics": {"validation_metrics": {"loss": 0.1, "by_class": {"cat": 0.5}}},
        "totalBatches": 5,
        "archived": False,
        "id": 1,
        "trialRunId": 1,
        "group": "validation",
    }
    served.routes["GET", "/api/v1/trials/metrics/trial_metrics"] = (
        200,
        canned.Stream([{"metrics": [row]}]),
    )
    _, waited, trials, frame, metrics = run(
        tools,
        served,
        tmp_path,
        WATCH + "from determined.experimental import client\ne = client.get_experiment(7)",
        "print(e.wait(interval=0.01).name, drawn[0], drawn[-1] == '')",
        "e.list_trials()",
        "e.list_trials().to_dataframe().to_dict('records')",
        "client.get_trial(11).iter_metrics('validation').to_dataframe().to_dict('records')",
    )
    [line] = [output["text"] for output in waited if output["output_type"] == "stream"]
    assert str(line).startswith('COMPLETED <label>experiment 7 ACTIVE <progress value="0.400"')
    assert str(line).endswith("True\n")
    assert "<th>hparams.lr</th>" in trials[0]["data"]["text/html"]  # type: ignore[index]
    assert "'hparams.net.layers': 2," in frame[0]["data"]["text/plain"]  # type: ignore[index]
    text = metrics[0]["data"]["text/plain"]  # type: ignore[index]
    assert "'loss': 0.1" in text
    assert "'by_class.cat': 0.5" in text
