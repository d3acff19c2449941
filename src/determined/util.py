"""Public functions for training code."""

from __future__ import annotations

import contextlib
import copy
import inspect
import json
import math
import os
import pathlib
import re
from typing import Any, Callable, Dict, List, Optional, Set, Tuple, Union

from determined._masking import mask_checkpoint_storage as mask_checkpoint_storage
from determined._masking import mask_config_dict as mask_config_dict
from determined._signals import forward_signals as forward_signals
from determined._signals import signal_process_tree as signal_process_tree
from determined.common._plain import plain

_LEGACY_TRIAL = re.compile(r"^[a-zA-Z0-9_.]+:[a-zA-Z0-9_]+$")


def rmtree_nfs_safe(
    path: Union[str, os.PathLike[str]],
    ignore_errors: bool = False,
    onerror: Optional[Callable[[Any, Any, Any], Any]] = None,
) -> None:
    """Remove a directory tree, with retries for network file systems.

    Raises:
        OSError: the tree still exists, and neither `ignore_errors` nor `onerror` was given.
    """
    import sys

    from determined.common.storage import remove_tree

    try:
        remove_tree(os.fspath(path))
    except OSError:
        if onerror is not None:
            onerror(os.rmdir, path, sys.exc_info())
        elif not ignore_errors:
            raise


def download_gcs_blob_with_backoff(blob: Any, n_retries: int = 32, max_backoff: int = 32) -> Any:
    """Read a Google Cloud Storage blob; retry with a back-off of up to `max_backoff` s."""
    import time

    from determined.common._backoff import Backoff

    for attempt in range(n_retries + 1):
        try:
            return blob.download_as_bytes()
        except Exception:  # naming the client's errors would require importing it
            if attempt == n_retries:
                raise
            time.sleep(Backoff(1, max_backoff).after(attempt + 1))
    return None


def is_overridden(full_method: Any, parent_class: Any) -> bool:
    """Whether a bound method overrides that of the parent class; False if it is not callable."""
    if not callable(full_method):
        return False
    parent = getattr(parent_class, full_method.__name__, None)
    return getattr(full_method, "__func__", full_method) is not parent


def has_param(fn: Callable[..., Any], name: str, pos: Optional[int] = None) -> bool:
    """Whether a function has a parameter of this name, or one at position `pos`."""
    parameters = list(inspect.signature(fn).parameters.values())
    if any(p.name == name for p in parameters):
        return True
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return pos is not None and pos < len(positional)


def get_member_func(obj: Any, func_name: str) -> Any:
    """The callable attribute of this name, or None."""
    member = getattr(obj, func_name, None)
    return member if callable(member) else None


def merge_dicts(base_dict: Dict[Any, Any], source_dict: Dict[Any, Any]) -> Dict[Any, Any]:
    """A copy of `base_dict` with `source_dict` merged into it, nested dicts key by key."""
    merged = copy.deepcopy(base_dict)
    for key, value in source_dict.items():
        if isinstance(value, dict) and isinstance(merged.get(key), dict):
            merged[key] = merge_dicts(merged[key], value)
        else:
            merged[key] = value
    return merged


def validate_batch_metrics(batch_metrics: List[Dict[str, Any]]) -> None:
    """Check that all batches report the same metrics.

    Raises:
        ValueError: one does not; the text has its index.
    """
    names = set(batch_metrics[0]) if batch_metrics else set()
    for index, metrics in enumerate(batch_metrics):
        if set(metrics) != names:
            raise ValueError(
                f"batch {index} reports {sorted(metrics)} where batch 0 reports {sorted(names)}"
            )


def make_metrics(num_inputs: Optional[int], batch_metrics: List[Dict[str, Any]]) -> Dict[str, Any]:
    """Batch metrics with their averages; values that are not numbers are left out of those."""
    validate_batch_metrics(batch_metrics)
    averages: Dict[str, Any] = {}
    for name in batch_metrics[0] if batch_metrics else ():
        values = [m[name] for m in batch_metrics if is_numerical_scalar(m[name])]
        averages[name] = sum(float(v) for v in values) / len(values) if values else None
    metrics: Dict[str, Any] = {"batch_metrics": batch_metrics, "avg_metrics": averages}
    if num_inputs is not None:
        metrics["num_inputs"] = num_inputs
    return metrics


def json_encode(obj: Any, indent: Optional[str] = None, sort_keys: bool = False) -> str:
    """Encode as JSON, including NumPy values, NaN, UTF-8 bytes and datetimes.

    Raises:
        TypeError: JSON cannot represent a value.
    """
    return json.dumps(plain(obj), indent=indent, sort_keys=sort_keys)


def write_user_code(path: pathlib.Path, on_cluster: bool) -> None:
    """Copy the model's code to `path/code`: the model directory on a cluster, else the cwd.

    Nothing is copied if `path/code` exists, or if `path` is inside the code's directory. Of the
    cwd, only what a cluster would get is copied, at most 96 MB.
    """
    import shutil

    from determined._constants import run_dir

    source = pathlib.Path(run_dir(), "train", "model") if on_cluster else pathlib.Path.cwd()
    target = pathlib.Path(path) / "code"
    if target.exists() or source.resolve() in [target.resolve(), *target.resolve().parents]:
        return
    if on_cluster:
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__", ".git"))
        return
    from determined._code_copy import copy_code

    copy_code(source, target)


def filter_duplicates(
    in_list: List[Any], sorter: Callable[[List[Any]], List[Any]] = sorted
) -> Set[Any]:
    """The items that occur more than once in a list."""
    ordered = sorter(in_list)
    return {a for a, b in zip(ordered, ordered[1:]) if a == b}


def humanize_float(n: float) -> float:
    """Round to three significant digits, or to an integer if that has more."""
    if n == 0 or not math.isfinite(n):
        return n
    return round(n, max(0, 2 - math.floor(math.log10(abs(n)))))


def make_timing_log(verb: str, duration: float, num_inputs: int, num_batches: int) -> str:
    """A log line with the throughput of an operation; `duration` in seconds."""
    rate = humanize_float(num_inputs / duration) if duration else 0
    batches = humanize_float(num_batches / duration) if duration else 0
    return (
        f"{verb}: {num_inputs} records in {humanize_float(duration)}s ({rate} records/s), "
        f"in {num_batches} batches ({batches} batches/s)"
    )


def calculate_batch_sizes(
    hparams: Dict[str, Any], slots_per_trial: int, trialname: str
) -> Tuple[int, int]:
    """Per-slot and effective global batch size, from `global_batch_size`.

    Raises:
        ValueError: the hyperparameter is missing, is not an integer, or is smaller than the
            number of slots.
    """
    if "global_batch_size" not in hparams:
        raise ValueError(f"{trialname} needs the hyperparameter global_batch_size")
    total = hparams["global_batch_size"]
    if not isinstance(total, int):
        raise ValueError(f"the hyperparameter global_batch_size must be an integer, got {total!r}")
    slots = max(slots_per_trial, 1)
    if total < slots:
        raise ValueError(f"global_batch_size {total} is smaller than the {slots} slots of a trial")
    return total // slots, (total // slots) * slots


def check_sshd(peer_addr: str, deadline: float, port: int) -> None:
    """Wait until an SSH server sends its banner.

    Args:
        deadline: a time of `time.time()`.

    Raises:
        ValueError: none did before the deadline.
    """
    import socket
    import time

    problem = "no answer"
    while True:
        try:
            with socket.create_connection((peer_addr, port), 1) as sock:
                sock.settimeout(1)
                if sock.recv(4) == b"SSH-":
                    return
                problem = "another server answered"
        except OSError as error:
            problem = str(error)
        if time.time() > deadline:
            raise ValueError(f"no SSH server at {peer_addr} port {port}: {problem}")
        time.sleep(0.1)


def match_legacy_trial_class(arg: str) -> bool:
    """Whether an entrypoint has the legacy form `module:Class`."""
    return _LEGACY_TRIAL.match(arg) is not None


def legacy_trial_entrypoint_to_script(trial_entrypoint: str) -> List[str]:
    """The command that trains a trial class `module:Class`."""
    return ["python3", "-m", "determined.exec.harness", trial_entrypoint]


def force_create_symlink(src: str, dst: str) -> None:
    """Make `dst` a symbolic link to `src`, replacing an existing link or file."""
    temporary = f"{dst}.{os.getpid()}"
    with contextlib.suppress(FileNotFoundError):
        os.unlink(temporary)
    os.symlink(src, temporary)
    try:
        os.replace(temporary, dst)
    except OSError:
        os.unlink(temporary)
        raise


def is_numerical_scalar(n: Any) -> bool:
    """Whether a value is one number, or an array or tensor of one; a bool is not."""
    if isinstance(n, bool):
        return False
    if isinstance(n, (int, float)):
        return True
    if getattr(n, "size", None) == 1 and hasattr(n, "item") and not callable(n.size):
        return isinstance(n.item(), (int, float)) and not isinstance(n.item(), bool)
    return False
