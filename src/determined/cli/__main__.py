"""`python -m determined.cli` is `det`."""

import sys

from determined.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
