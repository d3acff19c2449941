import os
import time

SIGN, WRITTEN = os.environ["BENCH_SIGN"], os.environ["BENCH_FILE"]

while not os.path.exists(SIGN):
    time.sleep(0.002)
with open(WRITTEN, "w") as file:
    file.write(repr(time.time()))
raise AttributeError("'NoneType' object has no attribute 'shape'")
