#!/bin/sh
# End a bed, and wait until its processes have ended: the next one needs their ports and files.
#
#   tests/deploy/bed/down.sh SCRIPT TESTBED
#
# `SCRIPT down` ends the processes of TESTBED/run/*.pid and does not wait. Docker's takes up to 30 s.
set -u
bed="$1" testbed="$2"

ids="$(cat "$testbed"/run/*.pid "$testbed/run/docker/containerd/containerd.pid" 2>/dev/null)"
"$bed" down
for id in $ids; do
  waited=0
  while grep -qaF "$testbed" "/proc/$id/cmdline" 2>/dev/null; do
    waited=$((waited + 1))
    [ "$waited" -le 300 ] || { echo "process $id of the bed does not end" >&2; exit 1; }
    sleep 0.2
  done
done
