"""The public client against a canned master: its calls and the objects it returns."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli import canned
from tests.cli.conftest import home, master  # noqa: F401  # fixtures
from tests.cli.fake_master import FakeMaster, error

from determined import errors
from determined.common import experimental
from determined.common.api import errors as api_errors
from determined.experimental import Checkpoint, Determined, Experiment, OrderBy, Trial, client


@pytest.fixture
def cluster(master: FakeMaster) -> Iterator[Determined]:  # noqa: F811  # the fixture above
    session = Determined()
    yield session
    session._session.close()


@pytest.fixture
def served(master: FakeMaster) -> FakeMaster:  # noqa: F811  # the fixture above
    return master


def test_user_and_password_of_the_environment_log_in(
    cluster: Determined, served: FakeMaster
) -> None:
    assert cluster.whoami().username == "determined"
    assert cluster.get_session_username() == "determined"
    assert served.made("POST", "/api/v1/auth/login")[0].json["username"] == "determined"


def test_an_experiment_has_what_the_master_says(cluster: Determined) -> None:
    found = cluster.get_experiment(7)
    assert isinstance(found, Experiment)
    assert (found.id, found.name, found.state) == (7, "wirex", client.ExperimentState.COMPLETED)
    assert found.labels == {"a", "b"}
    assert found.config == canned.CONFIG
    assert found.wait(interval=0.01) is client.ExperimentState.COMPLETED


def test_an_experiment_and_a_trial_have_the_reason_of_their_story(
    cluster: Determined, served: FakeMaster
) -> None:
    said = "KeyError: 'lr' · train.py:40"
    for path in ("/api/v1/experiments/7/story", "/api/v1/trials/11/story"):
        served.routes["GET", path] = (200, {"lines": [], "reason": said})
    assert cluster.get_experiment(7).reason() == said
    assert cluster.get_trial(11).reason() == said
    served.routes["GET", "/api/v1/trials/11/story"] = error(404, 5, "NotFound", "no such route")
    assert cluster.get_trial(11).reason() == ""


def test_a_state_of_a_newer_master_is_unspecified() -> None:
    assert client.ExperimentState("STATE_DREAMING") is client.ExperimentState.UNSPECIFIED
    assert client.TrialState("STATE_X") is client.TrialState.UNSPECIFIED


def test_trials_and_checkpoints_of_an_experiment(cluster: Determined, served: FakeMaster) -> None:
    experiment = cluster.get_experiment(7)
    (trial,) = experiment.list_trials()
    assert isinstance(trial, Trial)
    assert (trial.id, trial.hparams) == (11, canned.TRIAL["hparams"])
    best = experiment.top_checkpoint()
    assert isinstance(best, Checkpoint)
    assert best.uuid == canned.UUID
    query = served.made("GET", "/api/v1/experiments/7/checkpoints")[-1].query
    assert query["sortByAttr"] == ["SORT_BY_SEARCHER_METRIC"]
    assert query["orderBy"] == ["ORDER_BY_ASC"]

    assert query["states"] == ["STATE_COMPLETED"]


def test_the_checkpoints_of_a_trial_come_best_first(
    cluster: Determined, served: FakeMaster
) -> None:
    route = ("GET", "/api/v1/trials/11/checkpoints")
    served.routes[route] = (200, canned.page("checkpoints", canned.CHECKPOINT))
    trial = cluster.get_trial(11)
    trial.list_checkpoints()
    trial.top_checkpoint("loss")
    trial.select_checkpoint(latest=True)
    all_of_them, best, latest = (call.query for call in served.made(*route))
    assert all_of_them["sortByAttr"] == ["SORT_BY_SEARCHER_METRIC"]
    assert "orderBy" not in all_of_them  # the master knows which end is best
    assert "states" not in all_of_them
    assert (best["sortByMetric"], best["orderBy"]) == (["loss"], ["ORDER_BY_DESC"])
    assert best["states"] == ["STATE_COMPLETED", "STATE_PARTIALLY_DELETED"]
    assert latest["sortByAttr"] == ["SORT_BY_BATCH_NUMBER"]


@pytest.mark.parametrize("kind", [AssertionError, ValueError])
def test_conflicting_arguments_raise_both_expected_types(
    cluster: Determined, kind: type[Exception]
) -> None:
    trial = cluster.get_trial(11)
    with pytest.raises(kind, match="exactly one of latest, best and uuid"):
        trial.select_checkpoint()
    with pytest.raises(kind, match="requires order_by"):
        trial.list_checkpoints("loss")


def test_wrong_kinds_of_arguments_are_value_errors(cluster: Determined) -> None:
    trial = cluster.get_trial(11)
    with pytest.raises(ValueError, match="not 3"):
        trial.list_checkpoints(3, OrderBy.ASC)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="not int"):
        cluster.create_experiment(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'yesterday' is not a time"):
        trial.iter_logs(timestamp_after="yesterday")


@pytest.mark.parametrize(
    ("state", "kind", "text"),
    [
        ("STATE_PAUSED", ValueError, "PAUSED: activate it"),
        ("STATE_ERROR", RuntimeError, "without"),
    ],
)
def test_waiting_for_what_may_never_come_ends(
    cluster: Determined, served: FakeMaster, state: str, kind: type[Exception], text: str
) -> None:
    _, body = canned.routes()[("GET", "/api/v1/experiments/7")]
    body = {**body, "experiment": {**canned.EXPERIMENT, "state": state}}
    served.routes[("GET", "/api/v1/experiments/7")] = (200, body)
    served.routes[("GET", "/api/v1/experiments/7/trials")] = (200, canned.page("trials"))
    experiment = cluster.get_experiment(7)
    with pytest.raises(kind, match=text):
        experiment.wait() if kind is ValueError else experiment.await_first_trial()


def test_oauth_clients_raise_enterprise_only_error(cluster: Determined) -> None:
    for call in (cluster.list_oauth_clients, lambda: cluster.add_oauth_client("d", "n")):
        with pytest.raises(errors.EnterpriseOnlyError, match="det token create"):
            call()


def test_the_best_checkpoints_are_of_different_trials(
    cluster: Determined, served: FakeMaster
) -> None:
    def checkpoint(uuid: str, trial_id: int) -> dict[str, object]:
        training = {**canned.CHECKPOINT["training"], "trialId": trial_id}
        return {**canned.CHECKPOINT, "uuid": uuid, "training": training}

    body = canned.page("checkpoints", checkpoint("a", 1), checkpoint("b", 1), checkpoint("c", 2))
    served.routes[("GET", "/api/v1/experiments/7/checkpoints")] = (200, body)
    found = cluster.get_experiment(7).top_n_checkpoints(2, "loss", smaller_is_better=False)
    assert [c.uuid for c in found] == ["a", "c"]
    assert served.calls[-1].query["sortByMetric"] == ["loss"]
    assert served.calls[-1].query["orderBy"] == ["ORDER_BY_DESC"]


def test_an_experiment_is_created_from_a_mapping_or_a_file(
    cluster: Determined, served: FakeMaster, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text("pass\n")
    created = cluster.create_experiment({"name": "x", "lr": 1e-4}, tmp_path)
    assert created.id == 7
    (tmp_path / "c.yaml").write_text("name: y # why\n")
    cluster.create_experiment(tmp_path / "c.yaml")
    first, second = (c.json for c in served.made("POST", "/api/v1/experiments"))
    assert "name: x" in first["config"]
    assert [item["path"] for item in first["modelDefinition"]] == ["train.py"]
    assert second["config"] == "name: y # why\n"
    assert second["modelDefinition"] == []


def test_a_directory_that_cannot_be_sent_is_the_callers_error(
    cluster: Determined, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match="does not exist"):
        cluster.create_experiment({"name": "x"}, tmp_path / "none")


@pytest.mark.parametrize("action", ["activate", "pause", "cancel", "kill"])
def test_actions_are_posted(cluster: Determined, served: FakeMaster, action: str) -> None:
    getattr(cluster.get_experiment(7), action)()
    assert len(served.made("POST", f"/api/v1/experiments/7/{action}")) == 1


def test_labels_are_changed_by_what_there_is(cluster: Determined, served: FakeMaster) -> None:
    route = ("PATCH", "/api/v1/experiments/7")
    served.routes[route] = (200, {"experiment": canned.EXPERIMENT})
    cluster.get_experiment(7).add_label("c")
    assert served.made(*route)[0].json == {"id": 7, "labels": ["a", "b", "c"]}


def test_the_log_of_a_trial_comes_line_by_line(cluster: Determined) -> None:
    lines = list(cluster.get_trial(11).iter_logs(follow=True))
    assert [line.split()[-1] for line in lines] == ["first", "second"]
    with pytest.raises(ValueError, match="head cannot be combined"):
        cluster.get_trial(11).iter_logs(follow=True, head=3)


def test_metrics_come_as_reports(cluster: Determined, served: FakeMaster) -> None:
    row = {
        "trialId": 11,
        "endTime": "2026-11-21T05:00:00.123Z",
        "metrics": {"validation_metrics": {"loss": 0.1}},
        "totalBatches": 5,
        "archived": False,
        "id": 1,
        "trialRunId": 1,
        "group": "validation",
    }
    route = ("GET", "/api/v1/trials/metrics/validation_metrics")
    served.routes[route] = (200, canned.Stream([{"metrics": [row]}, {"metrics": []}]))
    (report,) = cluster.get_trial(11).stream_validation_metrics()
    assert (report.metrics, report.steps_completed, report.total_batches) == ({"loss": 0.1}, 5, 5)
    assert report.end_time.year == 2026
    assert served.calls[-1].query == {"trialIds": ["11"]}


@pytest.mark.parametrize(
    "wrong",
    [
        {},
        {"latest": True, "best": True},
        {"latest": True, "sort_by": "loss", "smaller_is_better": True},
        {"best": True, "sort_by": "loss"},
    ],
)
def test_a_checkpoint_is_chosen_in_one_way(cluster: Determined, wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"latest|sort_by"):
        cluster.get_trial(11).select_checkpoint(**wrong)  # type: ignore[arg-type]


def storage(served: FakeMaster, tmp_path: Path) -> Path:
    """Have the checkpoint's storage lie in a directory of this test; returns its directory."""
    config = {"checkpoint_storage": {"type": "shared_fs", "host_path": str(tmp_path / "fs")}}
    training = {**canned.CHECKPOINT["training"], "experimentConfig": config}
    checkpoint = {**canned.CHECKPOINT, "training": training, "resources": {"d/": "0", "d/x": "2"}}
    route = ("GET", f"/api/v1/checkpoints/{canned.UUID}")
    served.routes[route] = (200, {"checkpoint": checkpoint})
    return tmp_path / "fs" / canned.UUID


def archive(*members: tuple[str, bytes]) -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))
    return raw.getvalue()


def test_a_checkpoint_is_copied_from_its_storage(
    cluster: Determined, served: FakeMaster, tmp_path: Path
) -> None:
    folder = storage(served, tmp_path)
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "x").write_text("ok")
    path = Path(cluster.get_checkpoint(canned.UUID).download(str(tmp_path / "out")))
    assert (path / "d" / "x").read_text() == "ok"
    assert json.loads((path / "metadata.json").read_text()) == canned.CHECKPOINT["metadata"]
    assert served.made("GET", f"/checkpoints/{canned.UUID}") == []


def test_where_the_storage_is_out_of_reach_the_master_gives_the_files(
    cluster: Determined, served: FakeMaster, tmp_path: Path
) -> None:
    storage(served, tmp_path)
    served.routes[("GET", f"/checkpoints/{canned.UUID}")] = (200, archive(("d/x", b"ok")))
    path = cluster.get_checkpoint(canned.UUID).download(str(tmp_path / "out"))
    assert Path(path, "d", "x").read_bytes() == b"ok"
    (call,) = served.made("GET", f"/checkpoints/{canned.UUID}")
    assert call.headers["accept"] == "application/gzip"


@pytest.mark.parametrize(
    "data",
    [b"", b"no archive", archive(("../out-of-it", b"x")), archive(("d/x", b"ok"))[:40]],
    ids=["empty", "no archive", "leads out", "cut"],
)
def test_a_bad_archive_fails_and_writes_nothing_outside(
    cluster: Determined, served: FakeMaster, tmp_path: Path, data: bytes
) -> None:
    storage(served, tmp_path)
    served.routes[("GET", f"/checkpoints/{canned.UUID}")] = (200, data)
    checkpoint = cluster.get_checkpoint(canned.UUID)
    with pytest.raises((errors.MultipleDownloadsFailed, errors.CheckpointNotFound)):
        checkpoint.download(str(tmp_path / "in" / "out"))
    assert not (tmp_path / "in" / "out-of-it").exists()


def test_a_download_that_lacks_files_fails(
    cluster: Determined, served: FakeMaster, tmp_path: Path
) -> None:
    folder = storage(served, tmp_path)
    (folder / "d").mkdir(parents=True)
    with pytest.raises(errors.CheckpointNotFound, match="lacks d/x"):
        cluster.get_checkpoint(canned.UUID).download(str(tmp_path / "out"))


def test_a_deleted_checkpoint_cannot_be_downloaded(
    cluster: Determined, served: FakeMaster, tmp_path: Path
) -> None:
    body = {"checkpoint": {**canned.CHECKPOINT, "state": "STATE_DELETED"}}
    served.routes[("GET", f"/api/v1/checkpoints/{canned.UUID}")] = (200, body)
    with pytest.raises(errors.CheckpointStateException, match="DELETED"):
        cluster.get_checkpoint(canned.UUID).download(str(tmp_path / "out"))


def test_a_missing_trial_raises_not_found(cluster: Determined, served: FakeMaster) -> None:
    served.routes[("GET", "/api/v1/trials/99")] = error(404, 5, "NotFound", "trial '99' not found")
    with pytest.raises(api_errors.NotFoundException, match="trial '99' not found"):
        cluster.get_trial(99)


def test_a_pool_is_bound_to_workspaces(cluster: Determined, served: FakeMaster) -> None:
    path = "/api/v1/resource-pools/a%20b/workspace-bindings"
    listed = {"workspaceIds": [3, 5], "pagination": {"endIndex": 2, "total": 2}}
    served.routes[("GET", path)] = (200, listed)
    for method in ("POST", "PUT", "DELETE"):
        served.routes[(method, path)] = (200, {})
    for number, name in ((3, "three"), (5, "five")):
        found = {"workspace": {"id": number, "name": name}}
        served.routes[("GET", f"/api/v1/workspaces/{number}")] = (200, found)
    pool = experimental.ResourcePool(cluster._session, "a b")
    assert pool.list_workspaces() == ["three", "five"]
    pool.add_bindings(["x"])
    pool.replace_bindings(["y"])
    pool.remove_bindings(["z"])
    for method, name in (("POST", "x"), ("PUT", "y"), ("DELETE", "z")):
        (call,) = served.made(method, path)
        assert call.json == {"resourcePoolName": "a b", "workspaceNames": [name]}


def test_a_user_is_linked_with_one_of_the_agents(cluster: Determined, served: FakeMaster) -> None:
    user = cluster.whoami()
    path = f"/api/v1/users/{user.user_id}"
    served.routes[("PATCH", path)] = (200, {"user": canned.USER})
    user.link_with_agent(1000, 1001, "ada", "staff")
    linked = {"agentUid": 1000, "agentGid": 1001, "agentUser": "ada", "agentGroup": "staff"}
    assert served.made("PATCH", path)[0].json == {"agentUserGroup": linked}


def test_the_functions_of_the_module_share_one_session(
    served: FakeMaster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_determined", None)
    assert client.get_experiment(7).id == 7
    assert client.get_trial(11).id == 11
    assert len(served.made("POST", "/api/v1/auth/login")) == 1
    assert client._determined is not None
    client._determined._session.close()


def test_names_that_scripts_import_are_there() -> None:
    names = ("Checkpoint", "Determined", "ExperimentReference", "TrialReference", "TrialOrderBy")
    assert all(getattr(experimental, name) for name in names)
    assert experimental.TrialOrderBy.ASC is OrderBy.ASCENDING
    with pytest.raises(AttributeError):
        experimental.Nothing  # noqa: B018  # the access is the test
