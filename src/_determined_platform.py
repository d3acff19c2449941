"""Refuses `import determined` where the distribution `determined` lies in the same directory.

`determined-platform` and `determined` have packages of the same names. pip does not compare the
files of two distributions: the later one overwrites files of the earlier one and keeps the others.
Both orders leave a mixture that is no release of either. `determined_platform.pth` loads this
module at each start of Python, since `determined/__init__.py` may be the other's. The directory is
read only at the import of `determined`.
"""

import os
import sys


class _Guard:
    """A finder of modules that finds none."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "determined":
            _refuse_mixture(os.path.dirname(os.path.abspath(__file__)))
            sys.meta_path.remove(self)


def _refuse_mixture(directory: str) -> None:
    for name in os.listdir(directory):
        if name.startswith("determined-") and name.endswith((".dist-info", ".egg-info")):
            raise ImportError(
                f"determined-platform and {name.rpartition('.')[0]} are both installed in "
                f"{directory} and have overwritten each other's files: run `pip uninstall --yes "
                "determined determined-platform`, then install determined-platform again"
            )


def guard() -> None:
    """Check at the next import of `determined`."""
    sys.meta_path.insert(0, _Guard())
