"""Messages of the importance of hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence

from determined_wire.proto import BoolValue, Double, DoubleValue, Int32, Message


class GetHpImportanceRequest(Message, frozen=True):
    """Asks how much each hyperparameter matters; without a metric, for the searcher's."""

    id: Int32 = 0
    metric: str = ""
    group: str = ""
    smaller_is_better: BoolValue | None = None


class HpImportanceEntry(Message, frozen=True):
    """One hyperparameter; `kind` is `number`, `log`, `category` or `constant`."""

    name: str = ""
    kind: str = ""
    importance: Double = 0
    correlation: DoubleValue | None = None
    n: Int32 = 0
    values: Int32 = 0


class GetHpImportanceResponse(Message, frozen=True):
    """Hyperparameters, the most important first."""

    metric: str = ""
    group: str = ""
    smaller_is_better: bool = False
    n: Int32 = 0
    total: Int32 = 0
    warning: str = ""
    parameters: Sequence[HpImportanceEntry] = ()
