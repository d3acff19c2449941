"""Login, logout, and the token cache that keeps users logged in between commands."""

from __future__ import annotations

import contextlib
import dataclasses
import getpass
import hashlib
import json
import os
import pathlib
import re
import sys
from typing import Any, Dict, Iterator, List, Mapping, Optional

from determined.common import private_file
from determined.common.api import _retry, errors
from determined.common.api._address import canonicalize_master_url
from determined.common.api._session import BaseSession, Session, UnauthSession
from determined.common.api.certs import Cert

_SALT = "GubPEmmotfiK9TMD6Zdw"
_FORM = 2


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of sessions: trusted certificates and retries."""

    cert: Optional[Cert] = None
    max_retries: Any = _retry.DEFAULT


def new_password(session: BaseSession, password: str) -> Dict[str, Any]:
    """The fields of a request that gives a user this password.

    The master gets the hashed form and cannot count its characters, so it is asked for its rule.
    0.38.1 has none.

    Raises:
        ValueError: the master's rule refuses it.
    """
    with contextlib.suppress(errors.NotFoundException):
        rule = session.get("/api/ui/v1/rules").json()["password"]
        if not re.match(rule["pattern"], password):
            raise ValueError(f"the password has {len(password)} characters: {rule['text']}")
    return {"password": salt_and_hash(password), "isHashed": True}


def salt_and_hash(password: str) -> str:
    """The hash that is sent instead of a password: hex SHA-512 with a fixed salt.

    An empty password stays empty.
    """
    if not password:
        return password
    return hashlib.sha512((_SALT + password).encode()).hexdigest()


class TokenStore:
    """The cached tokens and the active user of one master. One file holds all masters.

    Each change reads, modifies and replaces the file under a lock, so concurrent commands lose no
    changes. Only the owner can read the file.

    Args:
        master: the address; its canonical form is the key in the file.
        path: the file; None for `auth.json` in the directory of the client's files.
    """

    def __init__(self, master: str, path: Optional[pathlib.Path] = None) -> None:
        self.master = canonicalize_master_url(master)
        self.path = path or private_file.config_path() / "auth.json"

    @property
    def active_user(self) -> Optional[str]:
        """The default user of commands; None if no user is logged in."""
        return self._entry(self._read()).get("active_user") or None

    def token_of(self, username: str) -> Optional[str]:
        """A user's token, or None."""
        token: Optional[str] = self._entry(self._read())["tokens"].get(username)
        return token

    def users(self) -> List[str]:
        """All users with a token."""
        return sorted(self._entry(self._read())["tokens"])

    def set_token(self, username: str, token: str, is_active: bool = True) -> None:
        """Store a token; by default make its user the active one."""
        with self._change() as entry:
            entry["tokens"][username] = token
            if is_active:
                entry["active_user"] = username

    def drop_user(self, username: str) -> None:
        """Delete a user's token."""
        with self._change() as entry:
            entry["tokens"].pop(username, None)
            if entry.get("active_user") == username:
                entry["active_user"] = None

    def _entry(self, document: Dict[str, Any]) -> Dict[str, Any]:
        entry: Dict[str, Any] = document["masters"].setdefault(self.master, {})
        entry.setdefault("tokens", {})
        return entry

    def _read(self) -> Dict[str, Any]:
        try:
            document = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {"version": _FORM, "masters": {}}
        except (ValueError, RecursionError):
            document = None
        if not self._is_usable(document):
            # Keep the invalid file for inspection.
            renamed = f"{self.path}.corrupt"
            with contextlib.suppress(OSError):
                os.replace(str(self.path), renamed)
            raise errors.CorruptTokenCacheException(renamed) from None
        return document  # type: ignore[no-any-return]  # checked just above

    def _is_usable(self, document: Any) -> bool:
        """Whether a file has the form of this class, as far as it concerns this master."""
        if not isinstance(document, dict) or not isinstance(document.get("masters"), dict):
            return False
        entry = document["masters"].get(self.master, {})
        if not isinstance(entry, dict) or not isinstance(entry.get("tokens", {}), dict):
            return False
        return all(isinstance(text, str) for text in entry.get("tokens", {}).values()) and (
            isinstance(entry.get("active_user"), (str, type(None)))
        )

    @contextlib.contextmanager
    def _change(self) -> Iterator[Dict[str, Any]]:
        with private_file.change(self.path, self._read) as document:
            yield self._entry(document)


def login(master: str, username: str, password: str, options: Optional[Options] = None) -> Session:
    """Log in and return the session. The token is not stored.

    Raises:
        InvalidCredentialsException: the user name or password is wrong.
        ForbiddenException: the user is not active.
    """
    how = options or Options()
    body = {"username": username, "password": salt_and_hash(password), "isHashed": True}
    with UnauthSession(master, how.cert, how.max_retries) as anonymous:
        try:
            answer = anonymous.post("/api/v1/auth/login", json=body).json()
        except errors.UnauthenticatedException:
            raise errors.InvalidCredentialsException() from None
    return Session(master, username, answer["token"], how.cert, how.max_retries)


def logout(session: Session, store: Optional[TokenStore] = None) -> None:
    """End a session at the master and delete its cached token.

    If the token has expired or its user is deactivated, only the cached token is deleted.
    """
    with contextlib.suppress(errors.UnauthenticatedException, errors.ForbiddenException):
        session.post("/api/v1/auth/logout")
    if session.username:
        (store or TokenStore(session.master)).drop_user(session.username)


def resolve(
    master: str,
    user: Optional[str] = None,
    password: Optional[str] = None,
    environment: Optional[Mapping[str, str]] = None,
    options: Optional[Options] = None,
) -> Session:
    """Open a session with the first available credentials.

    The order is: the arguments; DET_USER with DET_PASS; DET_USER_TOKEN (inside a task); the cached
    token of that user or of the active one; a password prompt, if stdin is a terminal.

    Raises:
        UnauthenticatedException: there are no credentials; the text has a remedy.
    """
    env = os.environ if environment is None else environment
    how = options or Options()
    name = user or env.get("DET_USER") or None
    is_of_env = password is None and name is not None and name == env.get("DET_USER")
    if is_of_env:
        password = env.get("DET_PASS")
    if name is not None and password is not None:
        try:
            return login(master, name, password, how)
        except errors.InvalidCredentialsException as error:
            if is_of_env:
                error.message += f" They are those of DET_USER ({name!r}) and DET_PASS."
            raise
    in_task = (env.get("DET_USER_TOKEN") or "").strip()
    if in_task and (user is None or user == env.get("DET_USER")):
        return Session(master, name, in_task, how.cert, how.max_retries)
    store = TokenStore(master)
    name = name or store.active_user
    token = store.token_of(name) if name else None
    if name and token:
        return Session(master, name, token, how.cert, how.max_retries)
    return _ask(master, name, store, how)


def _ask(master: str, name: Optional[str], store: TokenStore, how: Options) -> Session:
    who = f"'{name}' is not" if name else "nobody is"
    nobody = errors.UnauthenticatedException(
        f"Unauthenticated: {who} logged in at {store.master}. Log in with "
        f"'det user login {name or '<username>'}', or set DET_USER and DET_PASS."
    )
    if name is None or not sys.stdin.isatty():
        raise nobody
    try:
        password = getpass.getpass(f"Password for user '{name}': ")
    except EOFError:  # Ctrl-D
        raise nobody from None
    session = login(master, name, password, how)
    store.set_token(name, session.token, is_active=False)
    return session
