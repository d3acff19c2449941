"""A trial that runs until it is stopped."""

import time

time.sleep(3600)
