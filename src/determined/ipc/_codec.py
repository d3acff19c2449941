"""The encoding of values between ranks: extended JSON instead of pickle.

Unpickling can execute any code, so a peer could take over the process. These values can be sent,
also nested:

None, bool, int, float (including NaN and infinities), str, bytes, list, tuple, set, frozenset,
dict (with keys of any hashable type of these), `pathlib` paths, NumPy numbers (received as
Python's), and NumPy arrays of numbers and booleans.
"""

from __future__ import annotations

import base64
import json
import pathlib
import sys
from typing import Any, Callable, Dict

_TAG = "!"
"""The key that marks an extended value: {"!": [kind, content]}."""


def encode(value: Any) -> bytes:
    """Encode a value.

    Raises:
        TypeError: the type of the value, or of one inside it, cannot be sent.
        RecursionError: the value contains itself.
    """
    return json.dumps(_plain(value), separators=(",", ":")).encode()


def decode(data: bytes) -> Any:
    """Decode the result of `encode`.

    Raises:
        ValueError: the data is invalid.
    """
    try:
        return _value(json.loads(data))
    except (TypeError, LookupError) as error:
        raise ValueError(f"a message between ranks is invalid: {error!r}") from error


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    kind = type(value)
    if kind in (int, float, str):
        return value
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return _plain_dict(value)
    for known, name in _COLLECTIONS.items():
        if isinstance(value, known):
            return {_TAG: [name, [_plain(item) for item in value]]}
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {_TAG: ["bytes", base64.b64encode(bytes(value)).decode()]}
    if isinstance(value, pathlib.PurePath):
        return {_TAG: ["path", str(value)]}
    if isinstance(value, (int, float, str)):  # subclasses, numpy.float64 among them
        return _base_of(value)(value)
    return _plain_numpy(value)


def _plain_dict(value: Dict[Any, Any]) -> Any:
    if all(type(key) is str for key in value) and _TAG not in value:
        return {key: _plain(item) for key, item in value.items()}
    return {_TAG: ["dict", [[_plain(key), _plain(item)] for key, item in value.items()]]}


def _base_of(value: Any) -> Any:
    return next(base for base in (int, float, str) if isinstance(value, base))


def _plain_numpy(value: Any) -> Any:
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.generic) and value.dtype.kind in "biuf":
        return value.item()
    if numpy is not None and isinstance(value, numpy.ndarray) and value.dtype.kind in "biufc":
        raw = base64.b64encode(numpy.ascontiguousarray(value).tobytes()).decode()
        return {_TAG: ["array", [value.dtype.str, list(value.shape), raw]]}
    kind = type(value)
    raise TypeError(
        f"a value of type {kind.__module__}.{kind.__qualname__} cannot be sent between ranks: "
        "send numbers, text, bytes, paths, NumPy arrays, or lists, tuples, sets and dicts of "
        "them (convert a tensor with .tolist() or .numpy())"
    )


def _value(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_value(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if _TAG not in plain:
        return {key: _value(item) for key, item in plain.items()}
    kind, content = plain[_TAG]
    return _READERS[kind](content)


def _read_dict(content: Any) -> Any:
    return {_value(key): _value(item) for key, item in content}


def _read_array(content: Any) -> Any:
    import numpy

    dtype = numpy.dtype(content[0])
    if dtype.kind not in "biufc":
        raise ValueError(f"arrays of {dtype} cannot be sent between ranks")
    flat = numpy.frombuffer(base64.b64decode(content[2]), dtype=dtype)
    return flat.reshape(content[1]).copy()


_COLLECTIONS = {tuple: "tuple", set: "set", frozenset: "frozenset"}
_READERS: Dict[str, Callable[[Any], Any]] = {
    "tuple": lambda content: tuple(_value(item) for item in content),
    "set": lambda content: {_value(item) for item in content},
    "frozenset": lambda content: frozenset(_value(item) for item in content),
    "bytes": base64.b64decode,
    "path": pathlib.Path,
    "dict": _read_dict,
    "array": _read_array,
}
