import os
import sys
import time

LINES = int(os.environ["BENCH_LINES"])
LENGTH_BYTES = 120

with open(os.environ["BENCH_FILE"], "w") as file:
    file.write(repr(time.time()))
for first in range(0, LINES, 1000):
    lines = [
        f"line {n:09d} of a task's output ".ljust(LENGTH_BYTES - 1, ".") + "\n"
        for n in range(first, min(first + 1000, LINES))
    ]
    sys.stdout.write("".join(lines))
sys.stdout.flush()
