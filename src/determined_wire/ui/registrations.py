"""Messages of the versions that a checkpoint is registered as."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Message


class GetRegistrationsRequest(Message, frozen=True):
    """Names a checkpoint."""

    checkpoint_uuid: str = ""


class Registration(Message, frozen=True):
    """A version of a model; `name` is the version's own, or empty."""

    model_id: Int32 = 0
    model_name: str = ""
    version: Int32 = 0
    name: str = ""


class GetRegistrationsResponse(Message, frozen=True):
    """Versions in the order of their registration."""

    registrations: Sequence[Registration] = ()
