"""Makes images available on the machine: checks for them, pulls them, reports progress."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
from collections.abc import AsyncIterator, Callable
from typing import Any

from determined_agent import clock
from determined_agent.runtimes.base import LaunchFailed
from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker.hints import is_machine_fault, with_hint
from determined_agent.runtimes.docker.registry_auth import (
    CredentialHelperError,
    ImageName,
    auth_header,
    find_auth,
    parse_image,
)
from determined_wire.agent_link import ContainerSpec, Failure

NOTE_EVERY_S = 5.0
STALL_S = 900.0
"""A pull without any message for this long fails."""

_MIB = 1024**2


class ImagePuller:
    def __init__(self, api: DockerApi) -> None:
        self._api = api
        self._pulls: dict[str, asyncio.Lock] = {}

    async def is_present(self, image: str) -> bool:
        """Whether the daemon has the image. Raises DockerUnreachable, DockerApiError."""
        try:
            await self._api.call(Request(method="GET", path=f"/images/{image}/json"))
        except DockerApiError as error:
            if error.status == 404:
                return False
            raise
        return True

    async def ensure(
        self, spec: ContainerSpec, began: Callable[[], None], note: Callable[[str], None]
    ) -> None:
        """Pull the image if it is missing, or if the task wants a pull in any case.

        Args:
            spec: the image, whether to pull it in any case, and the task's credentials.
            began: called if a pull is needed.
            note: receives lines for the task's log.

        Raises:
            LaunchFailed: it cannot be pulled; the text names image, reason and remedy.
            DockerUnreachable: the daemon does not answer.
        """
        if not spec.force_pull_image and await self.is_present(spec.image):
            return
        began()
        lock = self._pulls.setdefault(spec.image, asyncio.Lock())
        if lock.locked():
            note(f"another task is pulling {spec.image}; waiting for it")
        async with lock:
            if spec.force_pull_image or not await self.is_present(spec.image):
                await self._pull(spec, note)

    async def _pull(self, spec: ContainerSpec, note: Callable[[str], None]) -> None:
        image = parse_image(spec.image)
        try:
            auth = await find_auth(image, spec.registry_auth, os.environ)
        except CredentialHelperError as error:
            raise _not_pulled(spec.image, str(error)) from error
        user = f" as {auth.username or 'the holder of a token'}" if auth else ""
        note(f"pulling image {spec.image}{user}")
        began_s = clock.monotonic_s()
        request = Request(
            method="POST",
            path="/images/create",
            query={"fromImage": image.name, "tag": image.tag},
            headers=auth_header(auth),
        )
        try:
            async with self._api.stream(request) as pieces:
                await _follow(pieces, image, note)
        except DockerApiError as error:
            raise _not_pulled(spec.image, str(error)) from error
        except TimeoutError as error:
            raise _not_pulled(
                spec.image, f"the pull made no progress for {STALL_S:.0f} s"
            ) from error
        except DockerUnreachable as error:
            text = f"the image {spec.image} could not be pulled: {error}"
            raise LaunchFailed(Failure("agent_error", text)) from error
        note(f"pulled image {spec.image} in {clock.monotonic_s() - began_s:.1f} s")


class PullProgress:
    """The progress of a pull, from its messages."""

    def __init__(self) -> None:
        self._layers: dict[str, tuple[int, int]] = {}
        self._done: set[str] = set()

    def take(self, message: dict[str, Any]) -> None:
        layer, status = str(message.get("id", "")), str(message.get("status", ""))
        if status.startswith("Pulling fs layer"):
            self._layers.setdefault(layer, (0, 0))
        elif status == "Downloading":
            detail = message.get("progressDetail") or {}
            now, whole = int(detail.get("current") or 0), int(detail.get("total") or 0)
            self._layers[layer] = (now, max(whole, now))
        elif status in ("Pull complete", "Already exists"):
            self._layers.setdefault(layer, (0, 0))
            self._done.add(layer)

    def __str__(self) -> str:
        have = sum(now for now, _ in self._layers.values())
        whole = sum(total for _, total in self._layers.values())
        size = f", {have / _MIB:.0f} of {whole / _MIB:.0f} MiB downloaded" if whole else ""
        return f"{len(self._done)} of {len(self._layers)} layers{size}"


async def _follow(
    pieces: AsyncIterator[bytes], image: ImageName, note: Callable[[str], None]
) -> None:
    """Read a pull's messages until it ends. Raises TimeoutError, DockerApiError."""
    progress, last = PullProgress(), ""
    next_note_s = clock.monotonic_s() + NOTE_EVERY_S
    async for message in _messages(pieces):
        if "error" in message:
            raise DockerApiError(500, str(message["error"]))
        progress.take(message)
        if clock.monotonic_s() >= next_note_s and str(progress) != last:
            last = str(progress)
            note(f"pulling {image.name}: {last}")
            next_note_s = clock.monotonic_s() + NOTE_EVERY_S


async def _messages(pieces: AsyncIterator[bytes]) -> AsyncIterator[dict[str, Any]]:
    partial = b""
    while True:
        async with asyncio.timeout(STALL_S):
            piece = await anext(pieces, None)
        if piece is None:
            return
        *lines, partial = (partial + piece).split(b"\n")
        for line in lines:
            with contextlib.suppress(ValueError):
                message = json.loads(line)
                if isinstance(message, dict):
                    yield message


def _not_pulled(image: str, reason: str) -> LaunchFailed:
    text = with_hint(f"the image {image} could not be pulled: {reason}")
    if is_machine_fault(reason):
        return LaunchFailed(Failure("agent_error", text))
    return LaunchFailed(Failure("task_error", text))
