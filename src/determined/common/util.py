"""Small public functions for scripts."""

from __future__ import annotations

import os
import pathlib
from typing import (
    IO,
    TYPE_CHECKING,
    Any,
    Callable,
    Iterator,
    Optional,
    Sequence,
    Tuple,
    TypeVar,
    Union,
)

from determined.common import private_file

if TYPE_CHECKING:
    import datetime

    from urllib3.util.retry import Retry

T = TypeVar("T")
U = TypeVar("U", bound=Callable[..., Any])
Text = Union[IO[Any], str, bytes]
_LEGACY_TRAINING = "training"
_LEGACY_VALIDATION = "validation"
"""Groups of metrics that the API of training and validation metrics has; scripts import them."""


def chunks(
    lst: Union[str, Sequence[T]], chunk_size: int
) -> Union[Iterator[str], Iterator[Sequence[T]]]:
    """Consecutive slices of `chunk_size` items; the last may be shorter."""
    return (lst[at : at + chunk_size] for at in range(0, len(lst), chunk_size))  # type: ignore[return-value]  # slices keep the kind of `lst`


def sizeof_fmt(val: Union[int, float]) -> str:
    """A human-readable number of bytes, in powers of 1024."""
    amount = float(val)
    for unit in ("", "K", "M", "G", "T", "P", "E", "Z"):
        if abs(amount) < 1024.0:
            return f"{amount:3.1f}{unit}B"
        amount /= 1024.0
    return f"{amount:.1f}YB"


def debug_mode() -> bool:
    """Whether DET_DEBUG is set."""
    return os.environ.get("DET_DEBUG", "").lower() in ("true", "1", "yes")


def preserve_random_state(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function to restore the random state of Python (and NumPy, if loaded) after it."""
    import functools
    import random
    import sys

    @functools.wraps(fn)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        state = random.getstate()
        numpy = sys.modules.get("numpy")
        numpy_state = numpy.random.get_state() if numpy else None
        try:
            return fn(*args, **kwargs)
        finally:
            random.setstate(state)
            if numpy:
                numpy.random.set_state(numpy_state)

    return wrapped


def yaml_safe_dump(
    data: Any, stream: Optional[IO[Any]] = None, default_flow_style: Optional[bool] = None
) -> Any:
    """Write YAML to `stream`, or return it as text."""
    import io

    yaml = _yaml(default_flow_style)
    if stream is not None:
        yaml.dump(data, stream)
        return None
    text = io.StringIO()
    yaml.dump(data, text)
    return text.getvalue()


def yaml_safe_load(f: Text) -> Any:
    """Read one YAML document (1.2) into plain values.

    Raises:
        ruamel.yaml.error.YAMLError: it is not YAML, or has a duplicate key.
    """
    return _yaml(None).load(f)


def safe_load_yaml_with_exceptions(yaml_file: Text) -> Any:
    """As `yaml_safe_load`, but raise ValueError with line and column."""
    from ruamel.yaml.error import YAMLError

    try:
        return yaml_safe_load(yaml_file)
    except YAMLError as error:
        raise ValueError(f"the YAML cannot be read: {error}") from error


def get_config_path() -> pathlib.Path:
    """The directory of this user's settings and logins."""
    return private_file.config_path()


def get_max_retries_config() -> Retry:
    """The retries of DET_RETRY_CONFIG, else 20 with exponential back-off, as urllib3's Retry."""
    import json

    from urllib3.util.retry import Retry

    text = os.environ.get("DET_RETRY_CONFIG")
    if text:
        return Retry(**json.loads(text))
    return Retry(
        total=20, backoff_factor=0.5, allowed_methods=None, status_forcelist=[502, 503, 504]
    )


def parse_protobuf_timestamp(ts: str) -> datetime.datetime:
    """Read a time as the API writes it (`2026-01-02T03:04:05.123456789Z`), to the microsecond.

    Raises:
        ValueError: it has another form.
    """
    import datetime
    import re

    found = re.fullmatch(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)", ts)
    if found is None:
        raise ValueError(f"{ts!r} is not a time such as 2026-01-02T03:04:05.123Z")
    seconds, fraction, zone = found.groups()
    microseconds = ((fraction or "") + "000000")[:6]
    zone = "+00:00" if zone == "Z" else zone
    return datetime.datetime.fromisoformat(f"{seconds}.{microseconds}{zone}")


def is_protobuf_timestamp(ts: str) -> bool:
    """Whether `parse_protobuf_timestamp` reads it."""
    try:
        parse_protobuf_timestamp(ts)
    except ValueError:
        return False
    return True


def wait_for(
    predicate: Callable[[], Tuple[bool, T]], timeout: int = 60, interval: float = 0.1
) -> T:
    """Call `predicate` until its first result is true; return its second result.

    Raises:
        TimeoutError: the condition was not met within `timeout` seconds.
    """
    import time

    deadline = time.monotonic() + timeout
    while True:
        is_done, value = predicate()
        if is_done:
            return value
        if time.monotonic() >= deadline:
            raise TimeoutError(f"the condition was not met within {timeout} s")
        time.sleep(interval)


def deprecated(message: Optional[str] = None) -> Callable[[U], U]:
    """Mark a function as deprecated: calling it emits a FutureWarning."""
    import functools
    import warnings

    def mark(fn: U) -> U:
        text = f"{fn.__name__} is deprecated" + (f": {message}" if message else "")

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            warnings.warn(text, FutureWarning, stacklevel=2)
            return fn(*args, **kwargs)

        return wrapped  # type: ignore[return-value]  # same signature as `fn`

    return mark


def strtobool(val: str) -> bool:
    """Read yes/no words (y, yes, t, true, on, 1; n, no, f, false, off, 0).

    Raises:
        ValueError: it is another word.
    """
    word = val.strip().lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return True
    if word in ("n", "no", "f", "false", "off", "0"):
        return False
    raise ValueError(f"{val!r} is neither yes nor no")


def _yaml(default_flow_style: Optional[bool]) -> Any:
    from ruamel.yaml import YAML

    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = bool(default_flow_style)
    return yaml
