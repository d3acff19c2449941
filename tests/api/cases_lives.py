"""Cases of what becomes of ended experiments."""

from __future__ import annotations

from tests.api.cases_experiments import CONFIG_FORM, ended
from tests.api.samples import Case

CASES: dict[str, Case] = {
    "experiments.continue": Case(
        ended, free=CONFIG_FORM | {"experiment.trialIds", "experiment.modelDefinitionSize"}
    ),
    "experiments.continue.multi": Case(ended),
}
