"""The records that a rank reads, and their order."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, SequentialSampler, TensorDataset

from determined import pytorch
from determined.pytorch import samplers


def batches(records: int, size: int, drop_last: bool = False) -> BatchSampler:
    return BatchSampler(SequentialSampler(range(records)), size, drop_last)


def first(items: Any, count: int) -> list[Any]:
    return list(itertools.islice(items, count))


def loader(**more: Any) -> pytorch.DataLoader:
    dataset = TensorDataset(torch.arange(20))
    return pytorch.DataLoader(dataset, batch_size=3, shuffle=True, **more)


def read(made: Any, count: int) -> list[list[int]]:
    return [batch[0].tolist() for batch in itertools.islice(made, count)]


def test_ranks_together_read_each_batch_once_and_in_order() -> None:
    shares = [
        list(pytorch.adapt_batch_sampler(batches(10, 2), num_replicas=3, rank=r)) for r in range(3)
    ]
    assert [len(share) for share in shares] == [2, 2, 1]
    merged = [b for row in itertools.zip_longest(*shares) for b in row if b is not None]
    assert merged == list(batches(10, 2))


def test_a_share_knows_its_length() -> None:
    for total, ranks in itertools.product(range(8), range(1, 5)):
        for rank in range(ranks):
            shared = samplers.DistributedBatchSampler(batches(total, 1), ranks, rank)
            assert len(shared) == len(list(shared))
            records = samplers.DistributedSampler(SequentialSampler(range(total)), ranks, rank)
            assert len(records) == len(list(records))


def test_repeating_ranks_never_run_out_and_never_differ_in_number() -> None:
    shares = [
        first(pytorch.adapt_batch_sampler(batches(5, 1), True, 0, 2, r), 10) for r in range(2)
    ]
    merged = [b for row in zip(*shares, strict=True) for b in row]
    assert merged == [[n] for n in range(5)] * 4


def test_a_skip_counts_the_batches_of_the_rank_and_happens_once() -> None:
    whole = first(pytorch.adapt_batch_sampler(batches(7, 2), True, 0, 2, 1), 12)
    skipped = pytorch.adapt_batch_sampler(batches(7, 2), True, 5, 2, 1)
    assert first(skipped, 7) == whole[5:]
    once = samplers.SkipBatchSampler(batches(6, 2), 2)
    assert list(once) == [[4, 5]]
    assert list(once) == [[0, 1], [2, 3], [4, 5]]
    assert len(once) == 3


def test_shuffles_differ_by_pass_and_are_the_same_by_seed() -> None:
    torch.manual_seed(1)
    one = samplers.ReproducibleShuffleSampler(SequentialSampler(range(50)), 7)
    orders = [list(one), list(one)]
    torch.manual_seed(2)
    other = samplers.ReproducibleShuffleSampler(SequentialSampler(range(50)), 7)
    assert [list(other), list(other)] == orders
    assert orders[0] != orders[1]
    assert sorted(orders[0]) == list(range(50))
    third = samplers.ReproducibleShuffleSampler(SequentialSampler(range(50)), 8)
    assert list(third) != orders[0]
    kept = samplers.ReproducibleShuffleBatchSampler(batches(50, 5), 7)
    assert sorted(kept) == list(batches(50, 5))


@pytest.mark.parametrize("skip", [1, 6, 7, 20])
@pytest.mark.parametrize(("ranks", "rank"), [(1, 0), (2, 1)])
def test_a_loader_resumes_in_the_middle_of_any_epoch(skip: int, ranks: int, rank: int) -> None:
    whole = read(loader().get_data_loader(True, 0, ranks, rank), skip + 15)
    resumed = read(loader().get_data_loader(True, skip, ranks, rank), 15)
    assert resumed == whole[skip:]


def test_a_loader_reads_every_record_once_a_pass() -> None:
    made = loader()
    assert sorted(itertools.chain(*read(made, 100))) == list(range(20))
    assert len(made) == 7
    dropped = loader(drop_last=True)
    assert len(dropped) == len(read(dropped, 100)) == 6


def test_data_that_gives_nothing_is_named_instead_of_waited_for() -> None:
    with pytest.raises(ValueError, match="no training data"):
        first(samplers.RepeatSampler(SequentialSampler(range(0))), 1)


@pytest.mark.parametrize(
    "arguments",
    [
        {"sampler": SequentialSampler(range(20)), "shuffle": True},
        {"batch_sampler": batches(20, 2), "shuffle": True},
        {"batch_sampler": batches(20, 2), "batch_size": 3},
        {"batch_size": 0},
        {"prefetch_factor": 2},
    ],
)
def test_arguments_that_contradict_each_other_are_refused(arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"cannot be combined|at least 1"):
        pytorch.DataLoader(TensorDataset(torch.arange(20)), **arguments)


def test_an_iterable_dataset_is_refused_with_the_remedy() -> None:
    class Endless(torch.utils.data.IterableDataset):  # type: ignore[type-arg]
        def __iter__(self) -> Any:
            return iter(range(3))

    with pytest.raises(ValueError, match="disable_dataset_reproducibility_checks"):
        pytorch.DataLoader(Endless())


def test_the_length_of_a_batch_is_that_of_its_parts() -> None:
    rows = torch.zeros(4, 2)
    assert pytorch.data_length(rows) == 4
    assert pytorch.data_length({"a": rows, "b": [rows, rows]}) == 4
    assert pytorch.data_length(["a", "b", "c"]) == 3
    with pytest.raises(ValueError, match="differ in length"):
        pytorch.data_length((rows, torch.zeros(3)))
    with pytest.raises(TypeError, match="get_batch_length"):
        pytorch.data_length(7)


def test_a_batch_is_moved_with_all_its_parts() -> None:
    moved = pytorch.to_device(
        {"a": torch.zeros(1), "b": (torch.ones(1), ["text", 3])}, torch.device("meta")
    )
    assert moved["a"].device.type == moved["b"][0].device.type == "meta"
    assert moved["b"][1] == ["text", 3]
