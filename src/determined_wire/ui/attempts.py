"""Messages of attempts, and of why they failed."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import Int32, Int64, Message, Timestamp
from determined_wire.ui.stories import FailureCause


class GetTrialAttemptsRequest(Message, frozen=True):
    """Asks for the attempts of a trial."""

    id: Int32 = 0


class TrialAttempt(Message, frozen=True):
    """One start of a trial; `agents` are those that ran it, and `failure` says why it failed."""

    number: Int32 = 0
    allocation_id: str = ""
    state: str = ""
    resource_pool: str = ""
    slots: Int32 = 0
    agents: Sequence[str] = ()
    requested_at: Timestamp | None = None
    started_at: Timestamp | None = None
    ended_at: Timestamp | None = None
    exit_reason: str = ""
    failure: FailureCause | None = None


class GetTrialAttemptsResponse(Message, frozen=True):
    """The latest attempts, the newest first, and how many there were."""

    attempts: Sequence[TrialAttempt] = ()
    total: Int32 = 0


class GetFailuresRequest(Message, frozen=True):
    """Asks why trials or experiments failed: at most 500 of each."""

    trial_ids: Sequence[Int32] = ()
    experiment_ids: Sequence[Int32] = ()


class FailedRow(Message, frozen=True):
    """Why one failed; `logPosition` is the id of a line in the log of `trialId`, or 0."""

    id: Int32 = 0
    text: str = ""
    trial_id: Int32 = 0
    log_position: Int64 = 0


class GetFailuresResponse(Message, frozen=True):
    """Those of the asked ones that have failed and that the caller sees, by id."""

    trials: Sequence[FailedRow] = ()
    experiments: Sequence[FailedRow] = ()
