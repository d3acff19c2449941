"""Contexts off the cluster, and rules for all contexts."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.covers import covers
from tests.harness.master_double import MasterDouble

import determined as det
from determined import core
from determined.common.api import UnauthSession
from determined.core._checkpoint_shards import merge_metadata
from determined.core._profiler import average
from determined.core._searcher import length_of, units_of


@pytest.fixture
def context(tmp_path: pathlib.Path) -> Iterator[core.Context]:
    with core.make_dummy_context(checkpoint_storage=str(tmp_path / "storage")) as made:
        yield made


def test_off_the_cluster_a_checkpoint_needs_no_steps(context: core.Context) -> None:
    with context.checkpoint.store_path() as (path, uuid):
        (path / "w").write_text("1")
    assert context.checkpoint.get_metadata(uuid) == {}
    context.checkpoint.delete(uuid)
    context.checkpoint.delete(uuid)


def test_a_selector_chooses_what_is_stored_and_fetched(
    context: core.Context, tmp_path: pathlib.Path
) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for name in ("keep.a", "keep.b", "drop"):
        (folder / name).write_text(name)
    uuid = context.checkpoint.upload(
        folder, {"steps_completed": 1}, selector=lambda path: path != "drop"
    )
    context.checkpoint.download(uuid, tmp_path / "out", selector=lambda p: p.endswith(".a"))
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["keep.a"]
    with context.checkpoint.restore_path(uuid) as path:
        assert sorted(p.name for p in path.iterdir()) == ["keep.a", "keep.b", "metadata.json"]
    context.checkpoint.delete(uuid)
    with pytest.raises(det.errors.CheckpointNotFound, match=uuid):
        context.checkpoint.download(uuid, tmp_path / "again")


def test_a_sharded_upload_by_one_rank_is_a_checkpoint(
    context: core.Context, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "w").write_text("1")
    uuid = context.checkpoint.upload(tmp_path, {"steps_completed": 1}, shard=True)
    with context.checkpoint.restore_path(uuid) as path:
        assert (path / "w").read_text() == "1"
    with pytest.raises(RuntimeError, match="at least one rank must pass"):
        context.checkpoint.upload(None, {"steps_completed": 1}, shard=True)


def test_off_the_cluster_the_path_of_a_checkpoint_is_logged(
    context: core.Context, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "determined.core")
    with context.checkpoint.store_path({"steps_completed": 1}) as (_, uuid):
        pass
    stored = tmp_path / "storage" / uuid
    assert f"saved checkpoint {uuid} in {stored}" in caplog.text
    assert stored.is_dir()


def test_a_block_that_raises_reports_no_checkpoint(
    context: core.Context, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        pytest.raises(RuntimeError, match="mine"),
        context.checkpoint.store_path({"steps_completed": 1}),
    ):
        raise RuntimeError("mine")
    assert "saved checkpoint" not in caplog.text


def test_reports_are_checked_off_the_cluster_too(context: core.Context) -> None:
    with pytest.raises(RuntimeError, match="'loss' is None"):
        context.train.report_validation_metrics(1, {"loss": None})
    with pytest.raises(ValueError, match="from 0 to 1"):
        context.train.report_progress(1.5)
    with pytest.raises(ValueError, match="without a dot"):
        context.train.report_metrics("a.b", 1, {})
    with pytest.raises(ValueError, match="level must be one of"):
        context.alert("t", level="loud")
    with pytest.raises(ValueError, match="reason must be one of"):
        context.train.report_early_exit("tired")  # type: ignore[arg-type]
    context.train.report_early_exit("EXITED_REASON_INVALID_HP")  # type: ignore[arg-type]


def test_invalid_hyperparameters_end_the_process_well(tmp_path: pathlib.Path) -> None:
    with pytest.raises(SystemExit) as caught, core.make_dummy_context(None, str(tmp_path)):
        raise det.InvalidHP("no")
    assert caught.value.code == 0


def test_two_ranks_in_threads_agree(unused_port: int) -> None:
    seen: dict[int, list[object]] = {}

    def run(rank: int) -> None:
        with core.DistributedContext(
            rank=rank,
            size=2,
            local_rank=0,
            local_size=1,
            cross_rank=rank,
            cross_size=2,
            chief_ip="127.0.0.1",
            pub_port=unused_port,
        ) as dist:
            seen[rank] = [
                dist.allgather({"rank": rank}),
                dist.gather(rank),
                dist.broadcast(("chief", rank)),
                dist.allgather_local(rank),
                dist.get_num_agents(),
            ]

    threads = [threading.Thread(target=run, args=(rank,)) for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    both = [{"rank": 0}, {"rank": 1}]
    assert seen == {
        0: [both, [0, 1], ("chief", 0), [0], 2],
        1: [both, None, ("chief", 0), [1], 2],
    }


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"rank": 0, "size": 2}, "or none"),
        (dict.fromkeys(("rank", "local_rank", "cross_rank"), 2), "or none"),
    ],
)
def test_ranks_are_given_whole(fields: dict[str, int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        core.DistributedContext(**fields)


@pytest.mark.parametrize(
    "find",
    [
        core.DistributedContext.from_torch_distributed,
        core.DistributedContext.from_deepspeed,
    ],
)
def test_the_error_for_a_missing_launcher_has_the_remedy(
    find: Callable[[], core.DistributedContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By a KeyError: `except KeyError: distributed = None` stands in many scripts."""
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(KeyError) as caught:
        find()
    assert "did not set RANK" in str(caught.value)
    assert "determined.launch" in str(caught.value)


@covers("experiment-config 9.operations")
def test_a_searcher_yields_one_operation_that_must_be_completed(context: core.Context) -> None:
    with pytest.warns(FutureWarning, match="should_preempt"):
        operations = list_completing(context.searcher)
    assert operations == [1]
    with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="report_completed"):
        list(context.searcher.operations())
    with pytest.raises(ValueError, match="max_length"):
        core.SearcherContextMissing().operations()


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_completed_operation_accepts_its_full_progress_only(context: core.Context) -> None:
    for operation in context.searcher.operations():
        operation.report_completed(0.5)
        operation.report_progress(operation.length)
        with pytest.raises(RuntimeError, match="after report_completed"):
            operation.report_progress(operation.length / 2)
        with pytest.raises(RuntimeError, match="after report_completed"):
            operation.report_completed(0.5)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_searchers_mode_may_be_given_as_text(context: core.Context) -> None:
    mode: Any = "CHEIF_ONLY"
    for operation in context.searcher.operations(mode):
        operation.report_completed(1)
    mode = "both"
    with pytest.raises(ValueError, match=r"searcher_mode must be one of .*got 'both'"):
        context.searcher.operations(mode)


@pytest.mark.parametrize(("told", "progress"), [(-5, 0.0), (5, 0.5), (15, 1.0)])
def test_the_progress_of_an_operation_stays_between_its_ends(
    master: MasterDouble, told: float, progress: float
) -> None:
    with UnauthSession(master.url) as session:
        core.SearcherOperation(session, 3, 10, True).report_progress(told)
    (call,) = master.named("POST", "/progress")
    assert call.body == {"progress": progress, "is_raw": True}


def test_off_the_cluster_a_length_counts_epochs(context: core.Context) -> None:
    assert context.searcher.get_configured_units() is core.Unit.EPOCHS


def test_storage_may_be_given_as_a_path_and_nothing_else_is_taken(tmp_path: pathlib.Path) -> None:
    place: Any = tmp_path / "storage"
    with (
        core.init(checkpoint_storage=place) as context,
        context.checkpoint.store_path() as (path, uuid),
    ):
        assert path == tmp_path / "storage" / uuid
    place = 3
    with pytest.raises(TypeError, match="must be a path, an address or a mapping, got 3"):
        core.init(checkpoint_storage=place)
    with pytest.raises(ValueError, match=r"tensorboard_mode must be one of .*got 'off'"):
        core.init(tensorboard_mode="off")  # type: ignore[arg-type]


def list_completing(searcher: core.SearcherContext) -> list[int]:
    lengths = []
    for operation in searcher.operations():
        operation.report_progress(1)
        operation.report_completed(0.5)
        lengths.append(operation.length)
    return lengths


def test_a_searchers_length_has_a_unit() -> None:
    assert (length_of({"max_length": {"epochs": 3}}), length_of({"max_length": 4})) == (3, 4)
    assert length_of({}) is None
    assert units_of({"max_length": {"epochs": 3}}) is core.Unit.EPOCHS
    assert units_of({"max_length": 4}) is None
    assert units_of({"unit": "batches"}) is core.Unit.BATCHES


def test_ranks_metadata_is_merged_and_contradictions_are_named() -> None:
    assert merge_metadata([{"a": {"x": 1}}, {"a": {"y": 2}, "b": 3}, {"b": 3}]) == {
        "a": {"x": 1, "y": 2},
        "b": 3,
    }
    with pytest.raises(RuntimeError, match=r"'a\.x' is 2 on rank 1"):
        merge_metadata([{"a": {"x": 1}}, {"a": {"x": 2}}])


def test_samples_are_averaged_also_inside_maps() -> None:
    samples = [{"a": 1, "/": {"u": 10}}, {"a": 2, "/": {"u": 20}}]
    assert average(samples) == {"a": 1.5, "/": {"u": 15}}


def test_a_profiler_that_is_on_stays_as_it_is_and_its_numbers_are_checked() -> None:
    profiler = core.ProfilerContext("agent", None, core.DummyDistributedContext())
    with pytest.raises(ValueError, match=r"0\.1 s or more"):
        profiler.on(sampling_interval=0.01)
    with pytest.raises(ValueError, match="1 or more"):
        profiler.on(samples_per_report=0)
    profiler.on(sampling_interval=100)
    try:
        running = profiler._thread
        profiler.on()
        assert profiler._thread is running
    finally:
        profiler.off()
        profiler.off()


@pytest.mark.parametrize(
    ("steps", "metrics", "said"),
    [
        ("three", {"loss": 1}, "steps_completed must be a whole number, got 'three'"),
        (None, {"loss": 1}, "steps_completed must be a whole number, got None"),
        (float("nan"), {"loss": 1}, "steps_completed must be a whole number, got nan"),
        (1.5, {"loss": 1}, "steps_completed must be a whole number, got 1.5"),
        (1, 0.5, "metrics must be a dict of values by name"),
        (1, [("loss", 1)], "metrics must be a dict of values by name"),
    ],
)
@pytest.mark.parametrize("group", ["training", "validation", "other"])
def test_a_wrong_argument_of_a_report_is_named_and_nothing_is_logged(
    group: str, steps: Any, metrics: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    context = core.DummyTrainContext()
    caplog.set_level("INFO", logger="determined.core")
    with pytest.raises(TypeError, match=re.escape(said)):
        context.report_metrics(group, steps, metrics)
    assert caplog.records == []


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda c: c.train.report_metrics(3, 1, {"loss": 1}), "group must be text, got 3"),
        (lambda c: c.train.set_status(4), "status must be text, got 4"),
        (lambda c: c.train.set_metadata(["a"]), "metadata must be a dict of values by name"),
        (
            lambda c: c.checkpoint.upload(".", metadata=["a"]),
            "metadata must be a dict of values by name, got ['a']",
        ),
    ],
)
def test_other_wrong_arguments_are_named(
    context: core.Context, call: Callable[[core.Context], Any], said: str
) -> None:
    with pytest.raises(TypeError, match=re.escape(said)):
        call(context)


OFF_CLUSTER = """
from determined import core
with core.init(checkpoint_storage={storage!r}) as context:
    context.train.report_training_metrics(steps_completed=1, metrics={{"loss": 0.5}})
    context.train.report_progress(0.25)
    with context.checkpoint.store_path({{"steps_completed": 1}}):
        pass
"""


@pytest.mark.parametrize("has_logging", [False, True])
def test_a_script_off_the_cluster_shows_its_reports_with_and_without_logging(
    tmp_path: pathlib.Path, has_logging: bool
) -> None:
    script = OFF_CLUSTER.format(storage=str(tmp_path))
    if has_logging:
        script = f"import logging\nlogging.basicConfig(level=logging.INFO)\n{script}"
    ended = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    source = "INFO:determined.core:" if has_logging else "determined: "
    first, second, third = ended.stderr.splitlines()
    assert first == f"{source}training metrics at step 1: {{'loss': 0.5}}"
    assert second == f"{source}progress: 25 %"
    assert third.startswith(f"{source}saved checkpoint ")
    assert ended.stdout == ""
