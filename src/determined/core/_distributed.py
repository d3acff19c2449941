"""The ranks of one trial and the collective calls between them."""

from __future__ import annotations

import json
import os
from typing import Any, List, Optional, Tuple

from determined import _constants
from determined.core._group import RankGroup, connect_ranks, task_key


class NoLauncher(KeyError):
    """The environment lacks the variables that a launcher sets.

    Derives from KeyError, which scripts catch that run with and without a launcher.
    """

    def __str__(self) -> str:
        return str(self.args[0])


class DistributedContext:
    """The ranks of a trial. Every rank makes the same collective calls in the same order.

    Values may be numbers, text, bytes, paths, NumPy arrays, and lists, tuples, sets and dicts of
    them; any other type raises a TypeError that names it. Connections are authenticated with a
    key derived from the allocation's token. Nothing is unpickled.

    Args:
        rank, size: the rank of this process and the number of ranks.
        local_rank, local_size: the same within this container.
        cross_rank, cross_size: the index of this container and the number of containers.
        chief_ip: the address of rank 0; required with several containers.
        pub_port: the port on which rank 0 listens.
        pull_port: ignored; one port serves both directions.
        port_offset: added to the port, for a second context in the same processes.
        force_tcp: ignored.

    Raises:
        ValueError: only some of the six numbers are given, or a rank is not below its size, or
            there are several containers and no chief_ip.
        TimeoutError: not all ranks connected within ten minutes.
    """

    def __init__(
        self,
        *,
        rank: Optional[int] = None,
        size: Optional[int] = None,
        local_rank: Optional[int] = None,
        local_size: Optional[int] = None,
        cross_rank: Optional[int] = None,
        cross_size: Optional[int] = None,
        chief_ip: Optional[str] = None,
        pub_port: int = _constants.INTER_TRAIN_PROCESS_COMM_PORT_1,
        pull_port: int = _constants.INTER_TRAIN_PROCESS_COMM_PORT_2,
        port_offset: int = 0,
        force_tcp: bool = False,
    ) -> None:
        given = (rank, size, local_rank, local_size, cross_rank, cross_size)
        if any(n is None for n in given) and any(n is not None for n in given):
            raise ValueError(
                "pass all of rank, size, local_rank, local_size, cross_rank and cross_size, "
                f"or none of them; got {given}"
            )
        self.rank = rank if rank is not None else 0
        self.size = size if size is not None else 1
        self.local_rank = local_rank if local_rank is not None else 0
        self.local_size = local_size if local_size is not None else 1
        self.cross_rank = cross_rank if cross_rank is not None else 0
        self.cross_size = cross_size if cross_size is not None else 1
        self._check()
        self._all = self._local = RankGroup(0, 1)
        self._is_closed = False
        if self.size < 2:
            return
        is_one_host = self.local_size == self.size
        chief_ip = chief_ip or os.environ.get("DET_CHIEF_IP")
        if is_one_host:
            chief_ip = "127.0.0.1"
        elif not chief_ip:
            raise ValueError("chief_ip is required when the ranks are in several containers")
        self._all = connect_ranks(
            RankGroup(self.rank, self.size), chief_ip, pub_port + port_offset, is_one_host
        )
        self._local = self._all if is_one_host else self._connect_locally()

    @classmethod
    def from_horovod(cls, hvd: Any, chief_ip: Optional[str] = None) -> DistributedContext:
        """The ranks as an initialized Horovod module reports them."""
        return cls(
            rank=hvd.rank(),
            size=hvd.size(),
            local_rank=hvd.local_rank(),
            local_size=hvd.local_size(),
            cross_rank=hvd.cross_rank(),
            cross_size=hvd.cross_size(),
            chief_ip=chief_ip,
        )

    @classmethod
    def from_deepspeed(cls, chief_ip: Optional[str] = None) -> DistributedContext:
        """The ranks from the environment variables of DeepSpeed's launcher.

        Raises:
            KeyError: a variable is not set.
        """
        names = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE")
        return cls._from_environment(names, chief_ip)

    @classmethod
    def from_torch_distributed(cls, chief_ip: Optional[str] = None) -> DistributedContext:
        """The ranks from the variables of torch's launcher or `determined.launch.simple`.

        Raises:
            KeyError: a variable is not set.
        """
        names = (
            "RANK",
            "WORLD_SIZE",
            "LOCAL_RANK",
            "LOCAL_WORLD_SIZE",
            "GROUP_RANK",
            "GROUP_WORLD_SIZE",
        )
        return cls._from_environment(names, chief_ip)

    @classmethod
    def from_tf_config(cls) -> Tuple[DistributedContext, Any]:
        """One rank per container, from TF_CONFIG, and the TensorFlow strategy for it."""
        from importlib import import_module

        tensorflow: Any = import_module("tensorflow")
        config = json.loads(os.environ.get("TF_CONFIG", "{}"))
        workers = (config.get("cluster") or {}).get("worker") or []
        if len(workers) < 2:
            strategy = (
                tensorflow.distribute.MirroredStrategy()
                if len(tensorflow.config.list_physical_devices("GPU")) > 1
                else tensorflow.distribute.get_strategy()
            )
            return DummyDistributedContext(), strategy
        strategy = tensorflow.distribute.MultiWorkerMirroredStrategy()
        rank = int(config["task"]["index"])
        context = cls(
            rank=rank,
            size=len(workers),
            local_rank=0,
            local_size=1,
            cross_rank=rank,
            cross_size=len(workers),
            chief_ip=workers[0].rsplit(":", 1)[0],
        )
        return context, strategy

    def close(self) -> None:
        """Close the connections to the other ranks."""
        if not self._is_closed:
            self._is_closed = True
            self._local.close()
            self._all.close()

    def __enter__(self) -> DistributedContext:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def get_rank(self) -> int:
        """This process's rank."""
        return self.rank

    def get_local_rank(self) -> int:
        """This process's rank in its container."""
        return self.local_rank

    def get_size(self) -> int:
        """The number of ranks."""
        return self.size

    def get_num_agents(self) -> int:
        """The number of containers."""
        return self.cross_size

    def gather(self, stuff: Any) -> Optional[List[Any]]:
        """Collect every rank's value on rank 0, in order of rank; return None on the others."""
        return self._all.gather(stuff)

    def gather_local(self, stuff: Any) -> Optional[List[Any]]:
        """As `gather`, among the ranks of this container."""
        return self._local.gather(stuff)

    def allgather(self, stuff: Any) -> List[Any]:
        """Collect every rank's value on every rank, in order of rank."""
        return self._all.allgather(stuff)

    def allgather_local(self, stuff: Any) -> List[Any]:
        """As `allgather`, among the ranks of this container."""
        return self._local.allgather(stuff)

    def broadcast(self, stuff: Any) -> Any:
        """Send rank 0's value to every rank; the values of other ranks are ignored."""
        return self._all.broadcast(stuff)

    def broadcast_local(self, stuff: Any = None) -> Any:
        """As `broadcast`, among the ranks of this container."""
        return self._local.broadcast(stuff)

    @classmethod
    def _from_environment(
        cls, names: Tuple[str, ...], chief_ip: Optional[str]
    ) -> DistributedContext:
        missing = [name for name in names if name not in os.environ]
        if missing:
            raise NoLauncher(
                f"the launcher did not set {', '.join(missing)}: start the script with one of "
                "determined.launch.torch_distributed, deepspeed or simple"
            )
        fields = ("rank", "size", "local_rank", "local_size", "cross_rank", "cross_size")
        numbers: Any = {field: int(os.environ[name]) for field, name in zip(fields, names)}
        return cls(**numbers, chief_ip=chief_ip)

    def _check(self) -> None:
        for name in ("rank", "local_rank", "cross_rank"):
            number = getattr(self, name)
            total = getattr(self, name.replace("rank", "size"))
            if not 0 <= number < total:
                raise ValueError(f"{name} {number} must be from 0 to {total - 1}")

    def _connect_locally(self) -> RankGroup:
        group = RankGroup(self.local_rank, self.local_size)
        if self.local_rank == 0 and self.local_size > 1:
            group.listen("tcp://127.0.0.1:0", task_key())
        every = self._all.allgather((self.cross_rank, group.port))
        ports = {cross: port for cross, port in every if port is not None}
        if self.local_size > 1:
            if self.local_rank > 0:
                group.call(f"tcp://127.0.0.1:{ports[self.cross_rank]}", task_key())
            group.start()
        return group


class DummyDistributedContext(DistributedContext):
    """A single rank."""

    def __init__(self) -> None:
        super().__init__()
