"""Modules of 0.38.1 that scripts import: views of what this package has."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from determined import constants, gpu, horovod, layers, load, tensorboard, workload
from determined.common import check, detignore, storage, v1file_utils
from determined.common import constants as common_constants
from determined.common.api import analytics, bindings, logs, metric
from determined.common.storage import DirectoryStorageManager, S3StorageManager
from determined.tensorboard.build import build


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A model directory with a file that is left out."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.txt").write_text("abc")
    (tmp_path / "train.py").write_text("")
    (tmp_path / ".detignore").write_text("*.ckpt\n")
    (tmp_path / "data" / "big.ckpt").write_text("x")
    return tmp_path


def test_a_copy_leaves_out_what_detignore_names(tree: Path, tmp_path_factory: Any) -> None:
    target = tmp_path_factory.mktemp("copies") / "copy"
    shutil.copytree(tree, target, ignore=detignore.make_shutil_ignore(tree))
    assert sorted(str(p.relative_to(target)) for p in target.rglob("*")) == [
        "data",
        "data/a.txt",
        "train.py",
    ]


def test_files_of_a_directory_are_messages_below_a_prefix(tree: Path) -> None:
    files = {f.path: f for f in detignore.os_walk_to_v1Files(tree, Path("model"))}
    assert sorted(files) == ["model/data", "model/data/a.txt", "model/train.py"]
    assert v1file_utils.v1File_size(files["model/data/a.txt"]) == 3
    item = v1file_utils.v1File_to_dict(files["model/data/a.txt"])
    assert (item["path"], item["content"], type(item["mtime"])) == (
        "model/data/a.txt",
        "YWJj",
        int,
    )
    single = v1file_utils.v1File_from_local_file("b.txt", tree / "data" / "a.txt")
    assert (single.path, single.type, single.content) == ("b.txt", ord("0"), "YWJj")
    folder = v1file_utils.v1File_from_local_dir("d", tree / "data")
    assert (folder.path, folder.type, v1file_utils.v1File_size(folder)) == ("d", ord("5"), 0)


@pytest.mark.parametrize(
    ("run", "text"),
    [
        (lambda: check.eq(1, 2, "the sizes differ"), "1 is not equal to 2: the sizes differ"),
        (lambda: check.check_len([1], 2), r"\[1\] has 1 items, not 2"),
        (lambda: check.gt(1, 2), "1 is not greater than 2"),
        (lambda: check.check_not_none(None), "the value is None"),
        (lambda: check.check_isinstance("a", int), "'a' is no instance of"),
        (lambda: check.not_in(1, [1]), r"1 is one of \[1\]"),
    ],
)
def test_a_failed_check_names_both_values(run: Any, text: str) -> None:
    with pytest.raises(check.CheckFailedError, match=text):
        run()


def test_checks_that_hold_return_nothing() -> None:
    check.check_eq_len([1], [2])
    check.check_type(1, int)
    check.check_false(0)
    check.check_lt_eq(1, 1)


class Lines:
    """A session whose log has five lines."""

    def __init__(self) -> None:
        self.queries: list[dict[str, str]] = []

    def _do_request(self, method: str, path: str, *, params: Any, **_: Any) -> Any:
        assert (method, path) == ("GET", "/api/v1/trials/7/logs")
        query = dict(params)
        self.queries.append(query)
        numbers = range(1, 6)
        if query.get("orderBy") == "ORDER_BY_DESC":
            numbers = reversed(numbers)
        chosen = list(numbers)[: int(query.get("limit", 5))]
        body = [{"result": {"id": str(n), "message": f"line {n}\n"}} for n in chosen]

        class Answer:
            status_code = 200

            def iter_lines(self) -> list[str]:
                return [json.dumps(item) for item in body]

        return Answer()


def test_the_last_lines_of_a_log_come_in_order_and_are_followed_by_later_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    session = Lines()
    level = bindings.v1LogLevel.ERROR
    logs.pprint_logs(logs.trial_logs(session, 7, tail=2, min_level=level))
    assert capsys.readouterr().out == "line 4\nline 5\n"
    assert session.queries[0]["levels"] == "LOG_LEVEL_CRITICAL"  # the last of the two
    assert [x.id for x in logs.trial_logs(session, 7, head=2)] == ["1", "2"]
    assert [x.id for x in logs.trial_logs(session, 7, tail=1, follow=True)] == ["5"]


def test_a_metric_of_a_validation_is_read() -> None:
    validation = {"metrics": {"validation_metrics": {"loss": 0.5}}}
    assert metric.get_validation_metric("loss", validation) == 0.5
    assert metric.get_validation_metric("loss", None) is None
    assert (analytics.enabled, analytics.get_library_version_analytics()) == (False, {})


def test_gpus_come_from_nvidia_smi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text(
        "#!/bin/sh\ncase $1 in\n"
        "*=index*) echo '0, GPU-a, 50, 1000, 4000'; echo '1, GPU-b, [N/A], 0, 4000';;\n"
        "*compute-apps*) echo '7, python, GPU-a, 900';;\n"
        "*) echo GPU-a; echo GPU-b;;\nesac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    assert gpu.get_gpus() == [(0, "GPU-a", 0.5, 0.25), (1, "GPU-b", 0.0, 0.0)]
    assert gpu.get_gpu_uuids() == ["GPU-a", "GPU-b"]
    assert gpu.get_gpu_processes() == [(7, "python", "GPU-a", "900")]


def test_without_drivers_there_are_no_gpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (gpu.get_gpus(), gpu.get_gpu_uuids(), gpu.get_gpu_processes()) == ([], [], [])


def test_the_command_line_of_horovod_is_that_of_its_launcher() -> None:
    command = horovod.create_run_command([2, 2], ["a", "b"], "eth0", {}, True, ["--x"])
    assert command[:3] == ["horovodrun", "-np", "4"]
    assert command[command.index("-H") + 1] == "localhost:2,b:2"
    assert command[-2:] == ["--x", "--verbose"]
    assert horovod.create_hostlist_arg([2, 2], ["a", "b"]) == "a:2,b:2"
    assert "--cycle-time-ms" in horovod.create_performance_args({})


def test_a_framework_that_is_not_installed_is_named_with_the_remedy() -> None:
    with pytest.raises(ImportError, match="install horovod in the image"):
        _ = horovod.hvd


@pytest.mark.parametrize(
    "use",
    [
        lambda: workload.Workload(1),
        lambda: layers.WorkloadSequencer.train,
        lambda: load.get_trial_controller_class(object),
        lambda: _subclass(workload.Source),
    ],
)
def test_internals_of_0_38_1_raise_when_they_are_used_and_name_what_to_use(use: Any) -> None:
    with pytest.raises(NotImplementedError, match=r"internal to the harness .*: (use|a loop|py)"):
        use()


def _subclass(base: Any) -> None:
    class Own(base):
        pass


def test_a_trial_class_is_loaded_by_its_entrypoint() -> None:
    assert load.trial_class_from_entrypoint("pathlib:Path") is Path


def test_constants_are_those_of_tasks() -> None:
    assert constants.MAX_SLOTS_PER_AGENT == 16
    assert common_constants.SHARED_FS_CONTAINER_PATH == "/determined_shared_fs"
    assert common_constants.MAX_CONTEXT_SIZE == 96 << 20


def test_a_bucket_is_opened_by_the_arguments_of_its_manager(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    opened: list[Any] = []
    monkeypatch.setattr("determined.common.storage.cloud.Bucket", opened.append)
    S3StorageManager("b", "key", "secret", "http://localhost:9000", "p")
    storage.GCSStorageManager("c", prefix="q")
    tensorboard.S3TensorboardManager("b", "k", "s", None, None, Path("x"), Path("y"))
    assert [(t.kind, t.name, t.prefix) for t in opened] == [
        ("s3", "b", "p"),
        ("gcs", "c", "q"),
        ("s3", "b", ""),
    ]
    assert issubclass(S3StorageManager, storage.CloudStorageManager)


def test_event_files_of_a_trial_are_uploaded_to_its_place(tmp_path: Path) -> None:
    config = {"type": "shared_fs", "host_path": "/h"}
    manager = build("c", "2", "3", config, container_path=str(tmp_path), async_upload=False)
    assert manager.sync_path == Path("c/tensorboard/experiment/2/trial/3")
    whole = tensorboard.build("c", "2", None, {"type": "directory", "container_path": "/d"})
    assert whole.sync_path == Path("c/tensorboard/experiment/2")
    assert storage.DirectoryStorageManager is DirectoryStorageManager
