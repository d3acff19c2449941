"""From the exception of a trial to its sentence on the overview that is open meanwhile."""

from __future__ import annotations

from bench import experiments
from bench.browser.chromium import in_browser
from bench.browser.visit import Tab, Visit
from bench.cluster import Cluster, until
from bench.figure import Figure, Limit, Load, Measured

SENTENCE = "AttributeError: 'NoneType' object has no attribute 'shape'"
START_S = 60.0
_SHOWN = """async (text) => {
  await __probe.until(() => document.body.innerText.includes(text));
  return Date.now() / 1000;
}"""


def measure(cluster: Cluster, load: Load) -> Measured:
    """The trial notes the time just before it raises, the page that of the frame.

    The page is loaded, and the code runs, before the clock starts.
    """
    return Measured([in_browser(cluster, _visit)])


def _visit(person: Visit) -> float:
    cluster = person.cluster
    step = next(cluster.steps)
    sign, written = (cluster.directory / f"{name}-{step}" for name in ("sign", "raised"))
    written.touch(mode=0o666)
    written.chmod(0o666)
    variables = {"BENCH_SIGN": str(sign), "BENCH_FILE": str(written)}
    experiment_id = experiments.submit(cluster, "raise_on_sign.py", variables=variables)
    tab = person.tab(person.profile())
    tab.load(
        f"/experiments/{experiment_id}/overview", "document.body.innerText.includes('Running')"
    )
    _wait_until_it_runs(cluster, experiment_id)
    sign.touch()
    shown_at = _shown_at(tab)
    until(lambda: written.read_text() != "", START_S, "the time of the exception")
    tab.close()
    return shown_at - float(written.read_text())


def _wait_until_it_runs(cluster: Cluster, experiment_id: int) -> None:
    def is_running() -> bool:
        answer = cluster.call("GET", f"/api/v1/experiments/{experiment_id}/trials")
        return any(trial["state"] == "STATE_RUNNING" for trial in answer["trials"])

    until(is_running, START_S, "a running trial")


def _shown_at(tab: Tab) -> float:
    return float(tab.page.evaluate(_SHOWN, SENTENCE))


FIGURE = Figure(
    name="ui_cause",
    limits=[Limit("p50", "s", 1.0, "at_most")],
    measure=measure,
    warm_up=True,
    full=Load(runs=10),
    smoke=Load(runs=2),
    in_smoke=False,
)
