"""The directory of the chart: in the installed package, or in the checkout that runs."""

from __future__ import annotations

import pathlib

from determined.cli import errors

_INSTALLED = pathlib.Path(__file__).with_name("chart")


def chart_directory() -> pathlib.Path:
    """Where the chart is.

    Raises:
        CliError: it is in neither place.
    """
    places = [_INSTALLED]
    places += [above / "deploy/helm/determined" for above in _INSTALLED.parents]
    for place in places:
        if (place / "Chart.yaml").is_file():
            return place
    raise errors.CliError(
        f"the chart is not in {_INSTALLED}: install determined-platform again, or run the "
        "command of a checkout"
    )
