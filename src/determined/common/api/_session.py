"""Sessions: calls to the master with token, retries, and errors by status."""

from __future__ import annotations

import json as jsonlib
import socket
import threading
import time
from types import TracebackType
from typing import (
    Any,
    Callable,
    Dict,
    Mapping,
    Optional,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
)
from urllib.parse import urlencode

from determined.common.api import _retry, errors
from determined.common.api._address import canonicalize_master_url, parse_address
from determined.common.api._http import Disconnected
from determined.common.api._proxy import ProxyError, failure_through, is_answer_of_proxy
from determined.common.api._transport import Response, Transport
from determined.common.api.certs import Cert, problem_in_words

Params = Union[Mapping[str, Any], Sequence[Tuple[str, Any]], None]
S = TypeVar("S", bound="BaseSession")
_QUICK_BYTES = 1 << 20
"""Larger bodies may take longer than `LATE_S` to send."""
Retries = Union[_retry.RetryPolicy, int, None, Any]


class BaseSession:
    """A session with one master. Threads share its kept-alive connections.

    Every call returns a `Response` with a status below 300.

    Raises (every call):
        MasterNotFoundException: there was no response, even after retries.
        UnauthenticatedException, ForbiddenException, NotFoundException: 401, 403, 404.
        APIException: any other status from 300 on.
    """

    def __init__(
        self, master: str, cert: Optional[Cert] = None, max_retries: Retries = _retry.DEFAULT
    ) -> None:
        self.master = canonicalize_master_url(master)
        self.cert = cert
        self.retry = _retry.policy_of(max_retries)
        self._transport = Transport(self.master, cert)
        self._closed = threading.Event()

    def get(
        self,
        path: str,
        *,
        params: Params = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        stream: bool = False,
    ) -> Response:
        """Send a GET; with `stream` the caller reads the body as it arrives."""
        return self._do_request(
            "GET", path, params=params, headers=headers, timeout=timeout, stream=stream
        )

    def delete(self, path: str, **kwargs: Any) -> Response:
        """Send a DELETE; arguments as `get` without `stream`."""
        return self._do_request("DELETE", path, **kwargs)

    def post(self, path: str, **kwargs: Any) -> Response:
        """Send a POST; arguments as `get`, with `json` (any value) or `data` (text or bytes)."""
        return self._do_request("POST", path, **kwargs)

    def put(self, path: str, **kwargs: Any) -> Response:
        """Send a PUT; arguments as `post`."""
        return self._do_request("PUT", path, **kwargs)

    def patch(self, path: str, **kwargs: Any) -> Response:
        """Send a PATCH; arguments as `post`."""
        return self._do_request("PATCH", path, **kwargs)

    def with_retry(self: S, max_retries: Retries) -> S:
        """A copy of this session with its own connections and another retry policy."""
        copy = self._copy()
        copy.retry = _retry.policy_of(max_retries)
        return copy

    def watch_uploads(self, on_progress: Callable[[int, int], None]) -> None:
        """Call `on_progress` with the bytes sent and the total bytes of each request body."""
        self._transport.on_upload = on_progress

    def close(self) -> None:
        """Close the connections; pending calls raise MasterNotFoundException."""
        self._closed.set()
        self._transport.close()

    def __enter__(self: S) -> S:
        self._closed.clear()
        self._transport.reopen()
        return self

    def __exit__(
        self,
        exc_type: Optional[Type[BaseException]],
        exc_value: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.close()

    def _copy(self: S) -> S:
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        copy._transport = Transport(self.master, self.cert)
        copy._closed = threading.Event()
        return copy

    def _auth_headers(self) -> Dict[str, str]:
        return {}

    def _do_request(
        self,
        method: str,
        path: str,
        params: Params = None,
        json: Any = None,
        data: Union[str, bytes, None] = None,
        headers: Optional[Mapping[str, str]] = None,
        timeout: Optional[float] = None,
        stream: bool = False,
    ) -> Response:
        body = data.encode() if isinstance(data, str) else data
        all_headers = {"Accept": "application/json", **self._auth_headers(), **(headers or {})}
        if json is not None:
            body = encode_json(json)
            all_headers["Content-Type"] = "application/json"
        target = _target(path, params)
        response = self._send(method, target, all_headers, body, timeout, stream)
        return self._check(response, (method, target, all_headers, body, timeout))

    def _check(self, response: Response, request: Tuple[Any, ...]) -> Response:
        """Return a response below 300, else raise; task sessions extend this."""
        proxy, status = self._transport.proxy, response.status_code
        kind = response.headers.get("content-type", "")
        if proxy and is_answer_of_proxy(status, kind):
            reason = f"it answered {status} {response.reason}".rstrip()
            text = failure_through(proxy, parse_address(self.master), reason)
            raise errors.MasterNotFoundException(text)
        raise_for_status(response, self.master)
        return response

    def _send(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: Optional[bytes],
        timeout: Optional[float],
        stream: bool = False,
    ) -> Response:
        attempt, has_told = 0, False
        first: Dict[bool, float] = {}  # time of the first failure, and of the first status 500
        while True:
            attempt += 1
            began = time.monotonic()
            late = self._tell_late(is_quick=not stream and len(body or b"") <= _QUICK_BYTES)
            try:
                response = self._transport.send(method, target, headers, body, timeout)
                if response.status_code >= 300 or not stream:
                    response.read()  # frees the connection
                outcome: Union[int, OSError] = self._meaning(response)
            except OSError as error:
                outcome = error
            finally:
                if late is not None:
                    late.cancel()
            # Deadlines count from the first failure, since the first response may have taken long.
            since = first.setdefault(outcome == 500, time.monotonic())
            if not self._is_retried(method, attempt, since, outcome):
                if isinstance(outcome, OSError):
                    raise self._not_found(outcome) from outcome
                _retry.note_answer()
                return response
            # A connection that was not opened in time has failed since its attempt.
            since = min(since, began) if _is_timeout(outcome) else since
            if not has_told and time.monotonic() - since >= _retry.LATE_S:
                has_told = True
                self._tell_away(outcome, since)
            if self._closed.wait(self.retry.delay_s(attempt)):
                raise errors.MasterNotFoundException("the session was closed during the call")

    def _meaning(self, response: Response) -> int:
        """The status, by which the call is repeated or not."""
        status: int = response.status_code
        kind = response.headers.get("content-type", "")
        if status == 404 and self.retry.outlasts_gateways and "json" not in kind:
            return 503
        return status

    def _tell_late(self, *, is_quick: bool) -> Optional[threading.Timer]:
        """Start the timer that reports a late response, except for streams and large bodies."""
        if self.retry.tell_late is None or not is_quick:
            return None
        timer = threading.Timer(_retry.LATE_S, self.retry.tell_late, (self.master,))
        timer.daemon = True
        timer.start()
        return timer

    def _tell_away(self, outcome: Union[int, OSError], since: float) -> None:
        if self.retry.tell_away is None:
            return
        reason = str(outcome)
        if isinstance(outcome, OSError):
            reason = getattr(outcome, "reason", None) or outcome.strerror or reason
        proxy = self._transport.proxy
        through = f" through the proxy {proxy.words}" if proxy else ""
        deadline_s = self.retry.deadline_s
        left_s = None if deadline_s is None else since + deadline_s - time.monotonic()
        text = f"no answer from the master at {self.master}{through}: {reason}"
        self.retry.tell_away(text, left_s)

    def _is_retried(
        self, method: str, attempt: int, since: float, outcome: Union[int, OSError]
    ) -> bool:
        limit, waited_s = self.retry.deadline_s, time.monotonic() - since
        has_extra_time = False
        if outcome in self.retry.statuses:
            has_extra_time = waited_s < self.retry.away_for_s
        elif isinstance(outcome, int):
            if outcome != 500:
                return False
            limit = self.retry.internal_for_s
        if self._closed.is_set() or (attempt > self.retry.total and not has_extra_time):
            return False
        if limit is not None and waited_s >= limit:
            return False
        # A refused connection sent nothing, so any method may be retried.
        return isinstance(outcome, ConnectionRefusedError) or self.retry.covers(method)

    def _not_found(self, error: Exception) -> errors.MasterNotFoundException:
        if isinstance(error, ProxyError):
            return errors.MasterNotFoundException(str(error))
        is_https = self.master.startswith("https:")
        known = problem_in_words(error) if is_https else None
        proxy = self._transport.proxy
        is_cut = isinstance(error, (Disconnected, ConnectionResetError))
        if is_cut and not is_https and proxy is None:
            known = "it closed the connection without a response; if it serves HTTPS, use https://"
        if known:
            return errors.MasterNotFoundException(f"the master at {self.master}: {known}.")
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        if proxy is not None:
            text = failure_through(proxy, parse_address(self.master), reason)
            return errors.MasterNotFoundException(text)
        return errors.MasterNotFoundException(
            f"no answer from the master at {self.master}: {reason}. Is it running, and is this "
            "its address? Set it with -m or DET_MASTER or 'det context'; 'det deploy local "
            "cluster-up' starts one."
        )


class UnauthSession(BaseSession):
    """A session without a token, for public routes."""


class Session(BaseSession):
    """A session of a user.

    Args:
        master: the master's address.
        username: the token's user; None if not known.
        token: a login token or an access token.
        cert: the certificates to trust; None for the system's.
        max_retries: a number, a `RetryPolicy`, or urllib3's Retry.
    """

    def __init__(
        self,
        master: str,
        username: Optional[str],
        token: str,
        cert: Optional[Cert] = None,
        max_retries: Retries = _retry.DEFAULT,
    ) -> None:
        super().__init__(master, cert, max_retries)
        self.username = username
        self.token = token

    def _check(self, response: Response, request: Tuple[Any, ...]) -> Response:
        try:
            return super()._check(response, request)
        except errors.UnauthenticatedException:
            if not self.username:
                raise
            raise errors.UnauthenticatedException(
                f"Unauthenticated: the login of '{self.username}' at {self.master} has ended: log "
                f"in again with 'det user login {self.username}'."
            ) from None

    def _auth_headers(self) -> Dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}


def raise_for_status(response: Response, master: str = "") -> None:
    """Raise the error for a status from 300 on, or for a web page instead of an API response."""
    status = response.status_code
    if response.headers.get("content-type", "").startswith("text/html"):
        raise errors.WebPageException(response, master)
    if status < 300:
        return
    if status == 401:
        raise errors.UnauthenticatedException()
    problem = errors.APIException(response)
    if status == 403:
        raise errors.ForbiddenException(problem.message)
    if status == 404:
        raise errors.NotFoundException(problem.message)
    raise problem


def _is_timeout(outcome: Union[int, OSError]) -> bool:
    cause = outcome.__cause__ if isinstance(outcome, ProxyError) else outcome
    return isinstance(cause, (TimeoutError, socket.timeout))  # one class from Python 3.10 on


def encode_json(value: Any) -> bytes:
    """Encode as JSON, with NaN and infinities as text and NumPy numbers as Python's.

    Raises:
        TypeError: JSON cannot represent a value.
    """
    try:
        return jsonlib.dumps(value, allow_nan=False, separators=(",", ":")).encode()
    except (TypeError, ValueError):
        from determined.common._plain import plain

        return jsonlib.dumps(plain(value), separators=(",", ":")).encode()


def _target(path: str, params: Params) -> str:
    target = path if path.startswith("/") else "/" + path
    pairs = params.items() if isinstance(params, Mapping) else (params or ())
    query = [
        (key, _query_text(item))
        for key, value in pairs
        if value is not None
        for item in (value if isinstance(value, (list, tuple, set)) else [value])
    ]
    if query:
        target += ("&" if "?" in target else "?") + urlencode(query)
    return target


def _query_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
