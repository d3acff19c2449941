import os
import sys
import time

LINES = int(os.environ["BENCH_LINES"])
PER_SECOND = float(os.environ["BENCH_PER_SECOND"])
START = os.environ["BENCH_START"]
LENGTH_BYTES = 120
AT_ONCE = 20

print("ready", flush=True)
while not os.path.exists(START):
    time.sleep(0.01)
due = time.monotonic()
for first in range(0, LINES, AT_ONCE):
    time.sleep(max(0.0, due - time.monotonic()))
    due += AT_ONCE / PER_SECOND
    at = f"{time.time():.3f}"
    lines = [
        f"line {n:09d} at {at} of a task's output ".ljust(LENGTH_BYTES - 1, ".") + "\n"
        for n in range(first, min(first + AT_ONCE, LINES))
    ]
    sys.stdout.write("".join(lines))
    sys.stdout.flush()
