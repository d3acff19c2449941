"""How user code says that its hyperparameters make no sense."""

from __future__ import annotations


class InvalidHP(Exception):
    """Raised to end a trial whose hyperparameters cannot be trained with.

    Leaving a Core API context, it reports the reason and ends the process with exit code 0: the
    trial completes, and the search goes on without it.
    """

    def __init__(self, msg: str = "the hyperparameters of this trial cannot be used") -> None:
        super().__init__(msg)
        self.msg = msg
