"""The limit of open files, in a process of its own."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = """
import resource
from determined_master.server.open_files import raise_limit
resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))
print(raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("soft", "hard", "wanted"), [(256, 4000, 4000), (4000, 4000, 4000)], ids=["raised", "left"]
)
def test_the_soft_limit_is_raised_to_the_hard_one(soft: int, hard: int, wanted: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT.format(soft=soft, hard=hard)],
        env={"PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.split() == [str(wanted), str(wanted), str(hard)]
